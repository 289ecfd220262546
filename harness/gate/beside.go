package gate

import (
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// Pair contains, by name, the metrics of the baseline build and of the build under test.
type Pair struct {
	Base, Change map[string]float64
	// InTurn is true if the builds ran one after the other, in separate rounds. It is false if they
	// ran together in alternating slices.
	InTurn bool
}

// Beside is the measurement of the baseline build that belongs to a run of the build under test.
type Beside struct {
	Commit string // of the baseline build
	Pairs  []Pair
	// Work contains the counters of fixed work; nil if they were measured with another scenario of
	// the same topology.
	Work *result.FixedWork
	// Last reports that no further pair will be measured, so every limit must be decided now.
	Last bool
}

const (
	// keptAlpha is the false-pass rate of one limit: the probability that the true ratio breaks the
	// limit although its confidence bound meets it.
	keptAlpha = 0.05
	// brokenAlpha bounds the false-alarm rate of one limit. A clean run of the smoke set judges
	// about thirty ratios. A limit is broken only if the estimate also violates it.
	brokenAlpha = 0.0005
	// brokenPairs is the minimum number of pairs for a limit to be broken, as long as more pairs
	// can be measured. Under foreign CPU load, single generations of identical builds differ by 15
	// %, and two of them may agree by chance.
	brokenPairs = 6
	// priorDegrees is the weight of the prior noise. It equals the weight of the variance of seven
	// pairs.
	priorDegrees = 6
)

// noises contains the standard deviation, over pairs, of the logarithm of a ratio of identical
// builds.
type noises struct {
	of        map[string]float64 // by metric
	otherwise float64
}

var (
	// noiseOfSlices describes the noisier scenarios on a quiet host with two shared CPUs. Foreign
	// load increases the noise, and the pairs show the increase.
	noiseOfSlices = noises{map[string]float64{
		result.CyclesPerS: 0.03, result.ServerCPUUsPerCycle: 0.025, result.ClientCPUUsPerCycle: 0.025, result.CycleLatencyMs + "_p50": 0.2,
	}, 0.05}
	// noiseOfRounds is larger, because the builds of a pair run seconds apart. It was measured with
	// 18 to 20 pairs of identical builds under five host conditions: 0.13 for CPU time in the
	// noisier scenario, and 0.21 for the drain rate. The latter is used for all other metrics.
	noiseOfRounds = noises{map[string]float64{result.ServerCPUUsPerCycle: 0.13, result.ClientCPUUsPerCycle: 0.13}, 0.21}
)

// prior returns the noise of a ratio that is assumed before any pair is measured.
func (p Pair) prior(metric string) stat.NoisePrior {
	known := noiseOfSlices
	if p.InTurn {
		known = noiseOfRounds
	}
	sd, listed := known.of[metric]
	if !listed {
		sd = known.otherwise
	}
	return stat.NoisePrior{SD: sd, Degrees: priorDegrees}
}

// PairsOf returns the pairs of a duet, one for each valid generation.
func PairsOf(d *result.Duet) (pairs []Pair) {
	for _, g := range d.Generations {
		if g.Verdict != result.Pass {
			continue
		}
		p := Pair{Base: map[string]float64{}, Change: map[string]float64{}}
		for i, into := range []map[string]float64{p.Base, p.Change} {
			for metric, of := range figureOf {
				if v, measured := of(g.Sides[i]); measured {
					into[metric] = v
				}
			}
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// PairsOfRounds returns the pairs of two builds whose rounds alternated. It pairs their timed
// rounds in order.
func PairsOfRounds(base, change *result.Result) (pairs []Pair) {
	of, beside := timedRounds(base), timedRounds(change)
	for i := range min(len(of), len(beside)) {
		pairs = append(pairs, Pair{Base: of[i].Metrics, Change: beside[i].Metrics, InTurn: true})
	}
	return pairs
}

type ratioLimit struct {
	limit  Limit
	ratio  stat.ModeratedRatio
	values [2][]float64 // of base and change, by pair
}

// newRatioLimit estimates the ratio that a limit bounds. It fails if a figure is missing or not
// above 0 in any pair, so that the limit is then not met.
func newRatioLimit(l Limit, pairs []Pair) (*ratioLimit, error) {
	r := &ratioLimit{limit: l}
	var logs []float64
	var prior stat.NoisePrior // all pairs are of one kind
	for i, p := range pairs {
		prior = p.prior(l.Metric)
		for side, of := range []map[string]float64{p.Base, p.Change} {
			v, measured := of[l.Metric]
			if !measured || !(v > 0) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%s of the %s is missing or not above 0 in pair %d", l.Metric, sideName(side), i+1)
			}
			r.values[side] = append(r.values[side], v)
		}
		logs = append(logs, math.Log(p.Change[l.Metric]/p.Base[l.Metric]))
	}
	var err error
	r.ratio, err = prior.Moderate(logs)
	return r, err
}

// kept reports whether the one-sided confidence bound at keptAlpha meets the limit.
func (r *ratioLimit) kept() bool {
	if r.limit.Kind == Floor {
		return r.ratio.Lower(keptAlpha) >= r.limit.Value
	}
	return r.ratio.Upper(keptAlpha) <= r.limit.Value
}

func (r *ratioLimit) holds() bool {
	if r.limit.Kind == Floor {
		return r.ratio.Center() >= r.limit.Value
	}
	return r.ratio.Center() <= r.limit.Value
}

// worse reports whether the one-sided confidence bound at brokenAlpha shows a build worse than the
// baseline build.
func (r *ratioLimit) worse() bool {
	if r.limit.Kind == Floor {
		return r.ratio.Upper(brokenAlpha) < 1
	}
	return r.ratio.Lower(brokenAlpha) > 1
}

// judgeRatio judges a limit on a ratio to the baseline build:
//
//   - The limit is kept if the one-sided 95 % bound of the ratio meets it.
//   - The limit is broken if the estimate violates it and the one-sided 99.95 % bound shows a loss.
//     While more pairs can be measured, this also requires at least brokenPairs pairs.
//   - Otherwise more pairs are needed. After the last pair, the limit is kept if the estimate meets
//     it. Otherwise it is inconclusive, because chance may explain the estimate.
func judgeRatio(l Limit, beside *Beside) Finding {
	f := Finding{Metric: l.Metric, Kind: l.Kind, Limit: l.Value, Because: l.Because, Judged: true}
	if beside == nil {
		f.Judged, f.noBaseline = false, true
		f.Sentence = l.name() + " is not judged: no baseline build was measured with this run"
		return f
	}
	r, err := newRatioLimit(l, beside.Pairs)
	if err != nil {
		f.Sentence = fmt.Sprintf("%s can't be judged: %v: %s", l.Metric, err, l.Because)
		return f
	}
	change := middle(r.values[1])
	f.Value = &change
	f.OfBaseline = &result.BaselineRatio{
		Commit: beside.Commit, Base: middle(r.values[0]), Ratio: r.ratio.Center(), Low: r.ratio.Lower(0.025), High: r.ratio.Upper(0.025), Pairs: r.ratio.N,
	}
	f.Margin = margin(l, r.ratio.Center())
	shown, limit := render.Distinct(f.OfBaseline.Ratio, l.Value, 3)
	says := fmt.Sprintf("%s is %s (%s to %s) of baseline %.7s, where the %s is %s", l.Metric, shown, render.Digits(f.OfBaseline.Low, 3),
		render.Digits(f.OfBaseline.High, 3), beside.Commit, l.Kind, limit)
	switch {
	case r.kept():
		f.OK, f.Sentence = true, says
	case !r.holds() && r.worse() && (beside.Last || r.ratio.N >= brokenPairs):
		f.Sentence = says + ": " + l.Because
	case !beside.Last:
		f.Inconclusive, f.undecided = true, true
		f.Sentence = says + ", undecided: more pairs are needed"
	case r.holds():
		f.OK, f.Sentence = true, says+", decided by the estimate"
	default:
		f.Inconclusive = true
		f.Sentence = says + ", but chance may explain this: " + l.Because
	}
	return f
}

func shownRatio(r *result.BaselineRatio) string {
	return fmt.Sprintf("%s (%s to %s)", render.Digits(r.Ratio, 3), render.Digits(r.Low, 3), render.Digits(r.High, 3))
}

// Undecided reports whether the limits of the report's scenario need further pairs.
func (r Report) Undecided() bool {
	for _, f := range r.Findings {
		if f.undecided {
			return true
		}
	}
	return false
}

package gate

import (
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// Pair has the metrics of the baseline build and of the build under test, by name.
type Pair struct {
	Base, Change map[string]float64
	// InTurn reports that the builds ran one after the other, as rounds do, and not both in alternating slices.
	InTurn bool
}

// Beside is what was measured of the baseline build beside the build under test.
type Beside struct {
	Commit string // of the baseline build
	Pairs  []Pair
	// Work has the counters of fixed work; nil if another scenario of the same topology has them.
	Work *result.FixedWork
	// Last says that no further pair will be measured, so that a limit that is not decided yet must be.
	Last bool
}

const (
	// keptAlpha is the false-pass rate of one limit: the true ratio breaks it, and its bound keeps it.
	keptAlpha = 0.05
	// brokenAlpha bounds the false-alarm rate of one limit. A clean run of the smoke set judges some thirty ratios; a broken limit also needs an
	// estimate beyond the limit.
	brokenAlpha = 0.0005
	// brokenPairs is the least number of pairs that break a limit while more can be measured. Beside a loaded CPU single generations of
	// identical builds differ by 15 %, and two of them may agree by chance.
	brokenPairs = 6
	// priorDegrees is the weight of the prior noise: that of the variance of seven pairs.
	priorDegrees = 6
)

// noises has the standard deviation of the logarithm of a ratio of identical builds, from pair to pair.
type noises struct {
	of        map[string]float64 // by metric
	otherwise float64
}

var (
	// noiseOfSlices is that of the noisier scenarios on a quiet host with two shared CPUs. Foreign load makes it larger, which the pairs show.
	noiseOfSlices = noises{map[string]float64{
		result.CyclesPerS: 0.03, result.ServerCPUUsPerCycle: 0.025, result.ClientCPUUsPerCycle: 0.025, result.CycleLatencyMs + "_p50": 0.2,
	}, 0.05}
	// noiseOfRounds is larger, because the builds of a pair run seconds apart. 18 to 20 pairs of identical builds under five host conditions
	// showed it: 0.13 of the CPU time in the noisier scenario, and 0.21 of the drain rate, which stands for all other metrics too.
	noiseOfRounds = noises{map[string]float64{result.ServerCPUUsPerCycle: 0.13, result.ClientCPUUsPerCycle: 0.13}, 0.21}
)

// prior returns what is known about the noise of a ratio before any pair is measured.
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

// PairsOf returns the pairs of a duet: one for each generation that counts.
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

// PairsOfRounds returns the pairs of two builds whose rounds alternated: the timed rounds of each in their order.
func PairsOfRounds(base, change *result.Result) (pairs []Pair) {
	of, beside := timedRounds(base), timedRounds(change)
	for i := range min(len(of), len(beside)) {
		pairs = append(pairs, Pair{Base: of[i].Metrics, Change: beside[i].Metrics, InTurn: true})
	}
	return pairs
}

// ratioLimit is a limit on a ratio while it is judged.
type ratioLimit struct {
	limit  Limit
	ratio  stat.ModeratedRatio
	values [2][]float64 // of base and change, by pair
}

// newRatioLimit estimates the ratio that a limit is on. A figure that is missing or not above 0 in any pair is an error: it fails closed.
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

// kept reports whether the ratio keeps the limit, up to keptAlpha.
func (r *ratioLimit) kept() bool {
	if r.limit.Kind == Floor {
		return r.ratio.Lower(keptAlpha) >= r.limit.Value
	}
	return r.ratio.Upper(keptAlpha) <= r.limit.Value
}

// holds reports whether the estimate keeps the limit.
func (r *ratioLimit) holds() bool {
	if r.limit.Kind == Floor {
		return r.ratio.Center() >= r.limit.Value
	}
	return r.ratio.Center() <= r.limit.Value
}

// worse reports whether the build is certainly worse than the baseline build, up to brokenAlpha.
func (r *ratioLimit) worse() bool {
	if r.limit.Kind == Floor {
		return r.ratio.Upper(brokenAlpha) < 1
	}
	return r.ratio.Lower(brokenAlpha) > 1
}

// judgeRatio judges a limit that is a ratio to the baseline build.
//
//   - It is kept where a break of it is excluded at the level of 95 %.
//   - It is broken where the estimate is beyond it, and chance does not explain a loss at all at the level of 99.95 %. While more pairs can
//     be measured, this takes at least brokenPairs pairs.
//   - Otherwise more pairs are needed. After the last one the estimate decides that it is kept; an estimate beyond the limit that chance may
//     explain is inconclusive.
func judgeRatio(l Limit, beside *Beside) Finding {
	f := Finding{Metric: l.Metric, Kind: l.Kind, Limit: l.Value, Because: l.Because, Judged: true}
	if beside == nil {
		f.Judged, f.noBaseline = false, true
		f.Sentence = l.name() + " is not judged: no baseline build was measured beside this one"
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
		f.Sentence = says + ", which more pairs must decide"
	case r.holds():
		f.OK, f.Sentence = true, says+", by its estimate"
	default:
		f.Inconclusive = true
		f.Sentence = says + ", which chance may explain: " + l.Because
	}
	return f
}

// shownRatio is a ratio with its interval.
func shownRatio(r *result.BaselineRatio) string {
	return fmt.Sprintf("%s (%s to %s)", render.Digits(r.Ratio, 3), render.Digits(r.Low, 3), render.Digits(r.High, 3))
}

// Undecided reports whether further pairs are needed before the limits of the report's scenario are decided.
func (r Report) Undecided() bool {
	for _, f := range r.Findings {
		if f.undecided {
			return true
		}
	}
	return false
}

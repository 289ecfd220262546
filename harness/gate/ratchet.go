package gate

import (
	"fmt"
	"math"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// JudgeRatchet decides whether to keep the change of a duet over a sweep. Call it only once, after
// the duet, because its error rate is not corrected for earlier looks.
//
// A generation has one score: the weighted mean of the logarithms of the ratios of change to base,
// over the score's metrics and over the points. The ratio of a metric that is better when higher is
// inverted, so a score below 1 is always a gain. Fresh processes make the generations independent.
// The 95 % interval of the mean score is computed by Student's t. If the score contains a latency,
// a fifth of the generations is trimmed at each end, as in JudgeDuet. The change is kept if the
// whole interval is below 1. Otherwise it is rejected: as worse if the whole interval is above 1,
// and as a tie if the interval contains 1.
//
// The change is disqualified if its ledger does not balance, or if more generations failed because
// of the change alone than chance explains. Invalid generations are ignored; if fewer than
// policy.GenerationsMin are valid, nothing is decided.
//
// Each further figure is judged too, over all points and at each point. Worse lists the figures
// that are certainly worse and the counters of fixed work that rose. The figures are tested
// one-sided at 5 %, corrected by Holm's procedure for the number of figures.
func JudgeRatchet(d *result.Duet, score scenario.Score, policy DuetPolicy) *result.Ratchet {
	r := &result.Ratchet{Version: result.Version, Verdict: result.Misconfigured}
	if err := checkDuet(d, 1, policy); err != nil {
		return undecided(r, result.Misconfigured, err.Error())
	}
	c := &result.Comparison{Verdict: result.Pass, Duet: &result.DuetJudgement{}}
	conditions(c, d)
	r.Scenario, r.Started, r.Finished, r.Base, r.Change = c.Scenario, c.Started, c.Finished, c.Base, c.Change
	r.Durability, r.Measured, r.Seconds = c.Duet.Durability, c.Duet.Measured, c.Duet.Seconds
	j := &duetJudgement{c: c, policy: policy, look: 1}
	j.count(d)
	if c.Verdict == result.Pass {
		j.faults(d)
	}
	r.Generations, r.Warnings = c.Blocks, c.Warnings
	r.Base.Rounds, r.Change.Rounds = c.Blocks, c.Blocks
	switch {
	case c.Verdict == result.Incorrect:
		r.Reasons = c.Reasons
		if !changeIncorrect(d) {
			return undecided(r, result.Incorrect, "the base is incorrect, so nothing can be compared with it")
		}
		return Disqualify(r, result.Incorrect, "the change is incorrect: "+strings.Join(c.Reasons, "; "))
	case c.Verdict == result.Misconfigured:
		return undecided(r, result.Misconfigured, strings.Join(c.Reasons, "; "))
	case c.Verdict == result.Regressed:
		r.Reasons = c.Reasons
		return Disqualify(r, result.Regressed, strings.Join(c.Reasons, "; "))
	case len(j.generations) < policy.GenerationsMin:
		return undecided(r, result.Invalid, fmt.Sprintf("%d of %d generations count, but a decision needs %d: measure longer", len(j.generations), len(d.Generations), policy.GenerationsMin))
	}
	return (&ratcheting{r: r, generations: j.generations, score: score}).judge(d.Work)
}

func undecided(r *result.Ratchet, v result.Verdict, because string) *result.Ratchet {
	r.Verdict, r.Kept, r.Decided, r.Because = v, false, false, because
	return r
}

// Disqualify rejects a change regardless of its score.
func Disqualify(r *result.Ratchet, v result.Verdict, because string) *result.Ratchet {
	r.Verdict, r.Kept, r.Decided, r.Because = v, false, true, "disqualified: "+because
	return r
}

// changeIncorrect reports whether the change's side is incorrect.
func changeIncorrect(d *result.Duet) bool {
	for _, g := range d.Generations {
		if l := g.Sides[1].Ledger; l.Lost+l.Duplicated+l.Corrupted+l.Misrouted+l.Reordered > 0 {
			return true
		}
		if g.Verdict != result.Incorrect {
			continue
		}
		for _, reason := range g.Reasons {
			if strings.HasPrefix(reason, changeArm+": ") {
				return true
			}
		}
	}
	return false
}

type ratcheting struct {
	r           *result.Ratchet
	generations []result.Generation // the valid generations, at least GenerationsMin
	score       scenario.Score
}

func (t *ratcheting) judge(work *result.FixedWork) *result.Ratchet {
	r := t.r
	r.Points = len(t.generations[0].Points)
	if r.Points == 0 {
		return undecided(r, result.Misconfigured, "the duet has no points to score: it has no sweep")
	}
	for _, g := range t.generations {
		if len(g.Points) != r.Points {
			return undecided(r, result.Invalid, fmt.Sprintf("generation %d has %d points, but the first has %d", g.Number, len(g.Points), r.Points))
		}
	}
	figure, err := t.scored()
	if err != nil {
		return undecided(r, result.Invalid, err.Error())
	}
	r.Score = &figure
	t.figures()
	t.counters(work)
	r.Decided = true
	text := fmt.Sprintf("score %s over %s", RatioText(figure.Ratio, figure.Low, figure.High), render.Plural(r.Generations, "generation"))
	switch {
	case figure.High < 1:
		r.Verdict, r.Kept, r.Because = result.Pass, true, text+": better"
	case figure.Low > 1:
		r.Verdict, r.Because = result.Regressed, text+": worse"
	default:
		r.Verdict, r.Because = result.Regressed, text+": a tie"
	}
	return r
}

// RatioText formats a ratio with its interval.
func RatioText(ratio, low, high float64) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", ratio, low, high)
}

func (t *ratcheting) scored() (f result.RatchetFigure, err error) {
	logs := make([]float64, len(t.generations))
	trim, weights := 0.0, 0.0
	for _, m := range t.score.Metrics {
		weights += m.Weight
		trim = max(trim, trimOf(m.Name))
	}
	if !(weights > 0) || math.IsInf(weights, 0) {
		return f, fmt.Errorf("the weights of the score add up to %v", weights)
	}
	for i, g := range t.generations {
		for k := range g.Points {
			for _, m := range t.score.Metrics {
				ratio, err := pointRatio(g, k, m.Name)
				if err != nil {
					return f, err
				}
				logs[i] += m.Weight * ratio.log
			}
		}
		logs[i] /= weights * float64(t.r.Points)
		f.Generations = append(f.Generations, math.Exp(logs[i]))
	}
	mean, err := stat.TrimmedMean(logs, trim)
	if err != nil {
		return f, fmt.Errorf("the score: %w", err)
	}
	f.Metric, f.Better, f.P = "score", result.Lower, mean.PAbove(0)
	f.Ratio, f.Low, f.High = math.Exp(mean.Center), math.Exp(mean.Lower((1-stat.Level)/2)), math.Exp(mean.Upper((1-stat.Level)/2))
	return f, nil
}

func trimOf(metric string) float64 {
	if spec, _ := result.Lookup(metric); spec.Family != "" {
		return trimLatency
	}
	return 0
}

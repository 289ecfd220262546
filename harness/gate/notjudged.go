package gate

import (
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// notJudged returns the figures of arms that cannot be judged. They are from all timed rounds that
// have histograms, including invalid rounds; a single round suffices. A metric that some of these
// rounds lack has no figure.
func notJudged(arms []result.Arm, policy Policy) []result.MetricDelta {
	deltas := []result.MetricDelta{}
	sides := make([]side, 0, len(arms))
	for _, a := range arms {
		s := side{name: a.Name}
		for _, r := range a.Result.Rounds {
			at := slices.IndexFunc(a.Histograms, func(h result.RoundHistograms) bool { return h.Round == r.Number })
			if r.Timed() && at >= 0 {
				s.rounds, s.cycles = append(s.rounds, r), append(s.cycles, a.Histograms[at].Cycle)
			}
		}
		sides = append(sides, s)
	}
	for _, m := range policy.Metrics {
		spec, _ := result.Lookup(m.Metric)
		d := result.MetricDelta{
			Metric: m.Metric, Unit: spec.Unit, Better: spec.Better, Effect: m.Effect, P: 1, PAdjusted: 1,
			Outcome: result.NotJudged, Because: "is not judged: too few rounds count",
		}
		for i, into := range []*result.Metric{&d.Base, &d.Change} {
			if values, there, err := sides[i].values(m.Metric); there && err == nil {
				*into = sides[i].figure(values, spec)
			}
		}
		if d.Base.N > 0 || d.Change.N > 0 {
			deltas = append(deltas, d)
		}
	}
	return deltas
}

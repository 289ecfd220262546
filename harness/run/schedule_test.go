package run

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 2
	assert.Equal(t, []plannedRound{{1, 0, timed}, {2, 0, timed}}, planned(s, nil))

	s.Captures = []scenario.Capture{{Kind: "cpu"}}
	ofPeak := s.Workloads[0]
	ofPeak.Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{OfPeak: 0.5}}
	s.Points = []scenario.Point{{Name: "a", Workloads: s.Workloads}, {Name: "b", Workloads: []scenario.Workload{ofPeak}}, {Name: "c", Workloads: []scenario.Workload{ofPeak}}}
	assert.Equal(t, []plannedRound{
		{1, 1, calibration},
		{2, 2, calibration},
		{3, 0, timed},
		{4, 1, timed},
		{5, 2, timed},
		{6, 0, timed},
		{7, 1, timed},
		{8, 2, timed},
		{9, 0, profiled},
		{10, 1, profiled},
		{11, 2, profiled},
	}, planned(s, nil), "all points have a round before any has the next one")
}

// Profiled rounds are spread among the timed ones, and a timed one comes first.
func TestPlanOfProfiledRounds(t *testing.T) {
	t.Parallel()
	kinds := func(rounds, profiles int) (all string) {
		s := small()
		s.Rounds, s.ProfiledRounds, s.Captures = rounds, profiles, []scenario.Capture{{Kind: "cpu"}}
		for _, p := range planned(s, nil) {
			all += map[kind]string{timed: "t", profiled: "p"}[p.kind]
		}
		return all
	}
	assert.Equal(t, "tttttttp", kinds(7, 1))
	assert.Equal(t, "ttttptttp", kinds(7, 2))
	assert.Equal(t, "tptptp", kinds(3, 3))
	assert.Equal(t, "tpptppp", kinds(2, 5))
	assert.Equal(t, "pp", kinds(0, 2))
}

func TestWorkloadOfARound(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Arrivals, s.Workloads[0].InFlight = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{OfPeak: 0.5}}, 1000
	r := &runner{scenario: s, points: s.Plan(), peaks: []float64{0}}
	w := r.workloads(plannedRound{1, 0, calibration})[0]
	assert.Equal(t, scenario.Arrivals{Kind: scenario.Closed}, w.Arrivals)
	assert.Equal(t, 1000, w.InFlight)

	m := &measured{round: result.Round{Verdict: result.Pass, Metrics: map[string]float64{result.CyclesPerS: 8000}}}
	r.calibrate(plannedRound{1, 0, timed}, m)
	assert.Equal(t, []float64{0}, r.peaks, "only a calibration finds a peak")
	r.calibrate(plannedRound{1, 0, calibration}, m)
	assert.InDelta(t, 4000, r.workloads(plannedRound{2, 0, timed})[0].Arrivals.Rate.PerSecond, 0)
	assert.InDelta(t, 4000, r.workloads(plannedRound{3, 0, profiled})[0].Arrivals.Rate.PerSecond, 0)
	assert.False(t, m.broken)

	for _, none := range []*measured{
		{round: result.Round{Verdict: result.Pass}},
		{round: result.Round{Verdict: result.Incorrect, Metrics: m.round.Metrics}},
	} {
		r.calibrate(plannedRound{1, 0, calibration}, none)
		assert.True(t, none.broken, "later rounds would have no rate")
		assert.Contains(t, none.round.Reasons, "found no peak, so a rate that is a part of the peak is undefined")
	}
}

package run

import (
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// kind is the purpose of a round.
type kind int

const (
	timed kind = iota
	profiled
	calibration // closed load that finds the peak of its point
)

// plannedRound is a round that has yet to be executed.
type plannedRound struct {
	number int // counted from 1
	point  int // index into the scenario's points
	kind   kind
}

// planned returns all rounds of a scenario in order, without the rounds of excluded points. The
// timed rounds cycle through the points, so that a host that becomes slower or faster affects all
// points equally.
func planned(s *scenario.Scenario, leftOut map[int]bool) []plannedRound {
	var plan []plannedRound
	add := func(point int, k kind) {
		if !leftOut[point] {
			plan = append(plan, plannedRound{len(plan) + 1, point, k})
		}
	}
	points := s.Plan()
	for i, p := range points {
		if scenario.Any(p.Workloads, func(w scenario.Workload) bool { return w.Arrivals.OfPeak() }) {
			add(i, calibration)
		}
	}
	turn := func(k kind) {
		for i := range points {
			add(i, k)
		}
	}
	profiles, done := s.Profiles(), 0
	for n := range s.Rounds {
		turn(timed)
		// Profiled rounds are spread among the timed ones, because the overhead of a profiled round
		// is computed by comparing it with its neighbours.
		for ; done < profiles*(n+1)/s.Rounds; done++ {
			turn(profiled)
		}
	}
	for ; done < profiles; done++ { // needed if there are no timed rounds
		turn(profiled)
	}
	return plan
}

// workloads returns the load of a round. If a rate is given as a part of the peak, it is replaced
// by an absolute rate. In a calibration all workloads are closed, and the peak is their total rate.
func (r *runner) workloads(p plannedRound) []scenario.Workload {
	workloads := slices.Clone(r.points[p.point].Workloads)
	for i := range workloads {
		w := &workloads[i]
		if p.kind == calibration {
			// The in-flight limit of the open load also bounds the closed load.
			w.Arrivals = scenario.Arrivals{Kind: scenario.Closed}
			if w.InFlight < w.EnqueueBatch() {
				w.InFlight = 0
			}
			continue
		}
		w.Arrivals = w.Arrivals.At(r.peaks[p.point])
	}
	return workloads
}

func (r *runner) calibrate(p plannedRound, m *measured) {
	if p.kind != calibration || m.broken {
		return
	}
	r.peaks[p.point] = m.round.Metrics[result.CyclesPerS]
	if r.peaks[p.point] <= 0 || m.round.Verdict != result.Pass {
		m.broken = true
		m.fault(result.Invalid, "found no peak, so a rate that is a part of the peak is undefined")
	}
}

package load

import (
	"math"

	"github.com/pronybench/prony/harness/scenario"
)

// stages are rates that change linearly from one value to the next. The last rate stays constant.
type stages struct {
	first, last steady
	ramps       []ramp // consecutive; a stage that changes the rate instantly has no ramp
}

// neverDue is the due time of a task that the schedule never reaches. It is later than the end of
// any window.
const neverDue = 1 << 61

func newStages(a scenario.Arrivals) stages {
	s := stages{first: steady(a.Rate.PerSecond), last: steady(a.Rate.PerSecond)}
	for _, stage := range a.Stages {
		to := steady(stage.To.PerSecond)
		if stage.Over > 0 {
			s.ramps = append(s.ramps, ramp{from: s.last, to: to, over: float64(stage.Over)})
		}
		s.last = to
	}
	return s
}

func (s stages) count(ns float64) float64 {
	if ns <= 0 {
		return s.first.count(ns)
	}
	tasks := 0.0
	for _, r := range s.ramps {
		if ns < r.over {
			return tasks + r.count(ns)
		}
		tasks, ns = tasks+r.all(), ns-r.over
	}
	return tasks + s.last.count(ns)
}

// due returns when a task is due. If the rate is 0, the next task becomes due when the rate rises
// again.
func (s stages) due(tasks float64) float64 {
	if tasks < 0 {
		return s.first.due(tasks)
	}
	passed := 0.0
	for _, r := range s.ramps {
		all := r.all()
		switch {
		case tasks == 0 && all > 0:
			return passed
		case tasks < all:
			return passed + min(r.over, r.due(tasks))
		}
		tasks, passed = tasks-all, passed+r.over
	}
	if s.last <= 0 {
		return neverDue
	}
	return passed + s.last.due(tasks)
}

func validateStages(check func(ok bool, format string, args ...any), a scenario.Arrivals) {
	rate := func(r scenario.Rate) {
		check(r.PerSecond >= 0 && !math.IsInf(r.PerSecond, 0), "workload.arrivals has a rate of %v a second; it must not be negative", r.PerSecond)
	}
	rate(a.Rate)
	check(len(a.Stages) > 0, "workload.arrivals has no stages; there must be at least one")
	for _, s := range a.Stages {
		rate(s.To)
		check(s.Over >= 0, "workload.arrivals has a stage of %v; it must not be negative", s.Over)
	}
}

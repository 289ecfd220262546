package load

import (
	"math"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// flow is how tasks of an open load become due over time: how many are due before an instant, counted from the window's
// start, and its inverse. Both are closed forms of the rate's integral, so that a task's time depends on no other's.
// Times are in nanoseconds from the window's start; in the warm-up, before it, both are negative and the rate is the first.
type flow interface {
	count(ns float64) float64
	due(tasks float64) float64
}

// newFlow returns the flow of arrivals, whose rates are known by now.
func newFlow(a scenario.Arrivals) flow {
	rate, to := steady(a.Rate.PerSecond), steady(a.To.PerSecond)
	switch a.Kind {
	case scenario.Ramp:
		return ramp{from: rate, to: to, over: float64(a.Over)}
	case scenario.Burst:
		return burst{quiet: rate, loud: to, rest: float64(a.Every - a.Over), every: float64(a.Every)}
	}
	return rate
}

// steady is a rate that stays, in tasks a second.
type steady float64

func (s steady) count(ns float64) float64  { return ns * float64(s) / 1e9 }
func (s steady) due(tasks float64) float64 { return tasks * 1e9 / float64(s) }

// ramp is a rate that goes evenly from one to another, and stays there.
type ramp struct {
	from, to steady
	over     float64 // ns
}

// all is how many tasks are due while the rate changes.
func (r ramp) all() float64 { return (r.from.count(r.over) + r.to.count(r.over)) / 2 }

func (r ramp) count(ns float64) float64 {
	switch {
	case ns <= 0:
		return r.from.count(ns)
	case ns >= r.over:
		return r.all() + r.to.count(ns-r.over)
	}
	return r.from.count(ns) + (r.to-r.from).count(ns)*ns/(2*r.over)
}

// due solves count for the time. Of the two ways to write the root this one holds also where the rate hardly changes.
func (r ramp) due(tasks float64) float64 {
	all := r.all()
	switch {
	case tasks <= 0:
		return r.from.due(tasks)
	case tasks >= all:
		return r.over + r.to.due(tasks-all)
	}
	from, change := float64(r.from)/1e9, float64(r.to-r.from)/1e9/r.over
	return 2 * tasks / (from + math.Sqrt(max(0, from*from+2*change*tasks)))
}

// burst is a rate, and in the last part of each period another one.
type burst struct {
	quiet, loud steady
	rest, every float64 // ns: what comes before a burst, and from one to the next
}

// period is how many tasks are due in one.
func (b burst) period() float64 { return b.quiet.count(b.rest) + b.loud.count(b.every-b.rest) }

func (b burst) count(ns float64) float64 {
	if ns <= 0 {
		return b.quiet.count(ns)
	}
	n := math.Floor(ns / b.every)
	into := ns - n*b.every
	return n*b.period() + b.quiet.count(min(into, b.rest)) + b.loud.count(max(0, into-b.rest))
}

func (b burst) due(tasks float64) float64 {
	if tasks <= 0 {
		return b.quiet.due(tasks)
	}
	period, before := b.period(), b.quiet.count(b.rest)
	n := math.Floor(tasks / period)
	into := max(0, tasks-n*period)
	if into < before {
		return n*b.every + b.quiet.due(into)
	}
	return n*b.every + min(b.every, b.rest+b.loud.due(into-before))
}

// validateArrivals returns what is wrong with when tasks are due.
func validateArrivals(check func(ok bool, format string, args ...any), a scenario.Arrivals) {
	check(a.Rate.PerSecond > 0 && !math.IsInf(a.Rate.PerSecond, 0),
		"workload.arrivals has a rate of %v a second; it must be positive", a.Rate.PerSecond)
	if a.Kind == scenario.Open {
		return
	}
	check(a.To.PerSecond > 0 && !math.IsInf(a.To.PerSecond, 0),
		"workload.arrivals has a second rate of %v a second; it must be positive", a.To.PerSecond)
	check(a.Over > 0, "workload.arrivals takes %v; it must be a time above 0", a.Over)
	if a.Kind == scenario.Burst {
		check(a.Every > a.Over, "workload.arrivals has a burst of %v every %v; it must be shorter than that", a.Over, a.Every)
	}
}

// meanPerSecond is the mean rate of a flow over a window of that length.
func meanPerSecond(f flow, window time.Duration) float64 {
	return f.count(float64(window)) / window.Seconds()
}

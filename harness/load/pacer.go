package load

import (
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// pacer defines the intended starts of the tasks of an open load. Both methods evaluate the
// integral of the rate in closed form, so the intended start of a task does not depend on other
// tasks. Times are in nanoseconds since the window's start. During the warm-up times and counts are
// negative, and the rate is the initial rate.
type pacer interface {
	count(ns float64) float64  // number of tasks due before a time
	due(tasks float64) float64 // time when a task is due: the inverse of count
}

// newPacer returns the pacer of arrivals whose rates are known in advance.
func newPacer(a scenario.Arrivals) pacer {
	rate, to := steady(a.Rate.PerSecond), steady(a.To.PerSecond)
	switch a.Kind {
	case scenario.Stages:
		return newStages(a)
	case scenario.Ramp:
		return ramp{from: rate, to: to, over: float64(a.Over)}
	case scenario.Burst:
		return burst{quiet: rate, loud: to, rest: float64(a.Every - a.Over), every: float64(a.Every)}
	}
	return rate
}

// steady is a constant rate in tasks per second.
type steady float64

func (s steady) count(ns float64) float64  { return ns * float64(s) / 1e9 }
func (s steady) due(tasks float64) float64 { return tasks * 1e9 / float64(s) }

// ramp is a rate that changes linearly from one value to another and then stays constant.
type ramp struct {
	from, to steady
	over     float64 // ns
}

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

// due inverts count. This form of the root is accurate even for a small change of the rate.
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

// burst has a quiet rate, except in the last part of each period, which has a loud rate.
type burst struct {
	quiet, loud steady
	rest, every float64 // ns: length of the quiet part and of the period
}

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

// poisson is a sequence of independent random arrivals in one window.
type poisson struct {
	all    []float64 // times of the arrivals, ascending
	window float64   // length in nanoseconds; no task beyond all is due inside
}

// newPoisson draws the arrivals of a Poisson process. The same seed, rate and length give the same
// arrivals.
func newPoisson(seed uint64, perSecond float64, length time.Duration) poisson {
	p := poisson{window: float64(length)}
	draw := rand.New(rand.NewPCG(seed, 0))
	mean := 1e9 / perSecond
	for at := draw.ExpFloat64() * mean; at < p.window; at += draw.ExpFloat64() * mean {
		p.all = append(p.all, at)
	}
	return p
}

func (p poisson) count(ns float64) float64 { return float64(sort.SearchFloat64s(p.all, ns)) }

func (p poisson) due(tasks float64) float64 {
	if tasks >= float64(len(p.all)) {
		return p.window
	}
	return p.all[int(tasks)]
}

func validateArrivals(check func(ok bool, format string, args ...any), a scenario.Arrivals) {
	if a.Kind == scenario.Stages {
		validateStages(check, a)
		return
	}
	check(a.Rate.PerSecond > 0 && !math.IsInf(a.Rate.PerSecond, 0),
		"workload.arrivals has a rate of %v a second; it must be positive", a.Rate.PerSecond)
	if a.Kind == scenario.Open {
		return
	}
	check(a.To.PerSecond > 0 && !math.IsInf(a.To.PerSecond, 0),
		"workload.arrivals has a second rate of %v a second; it must be positive", a.To.PerSecond)
	check(a.Over > 0, "workload.arrivals changes its rate over %v; the time must be positive", a.Over)
	if a.Kind == scenario.Burst {
		check(a.Every > a.Over, "workload.arrivals has a burst of %v every %v; the burst must be shorter than the period", a.Over, a.Every)
	}
}

func meanPerSecond(p pacer, window time.Duration) float64 {
	return p.count(float64(window)) / window.Seconds()
}

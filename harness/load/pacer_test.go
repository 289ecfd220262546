package load

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/scenario"
)

// rateAt returns the rate at an instant, in tasks a second, by the definition of the scenario
// language. Between the instants that edges returns, the rate is linear.
func rateAt(a scenario.Arrivals, at time.Duration) float64 {
	switch {
	case a.Kind == scenario.Ramp && at > 0:
		part := min(1, float64(at)/float64(a.Over))
		return a.Rate.PerSecond + part*(a.To.PerSecond-a.Rate.PerSecond)
	case a.Kind == scenario.Stages && at > 0:
		rate := a.Rate.PerSecond
		for _, s := range a.Stages {
			if at < s.Over {
				return rate + float64(at)/float64(s.Over)*(s.To.PerSecond-rate)
			}
			rate, at = s.To.PerSecond, at-s.Over
		}
		return rate
	case a.Kind == scenario.Burst && at > 0 && at%a.Every >= a.Every-a.Over:
		return a.To.PerSecond
	}
	return a.Rate.PerSecond
}

func edges(a scenario.Arrivals, from, to time.Duration) []time.Duration {
	all := []time.Duration{from, to, 0}
	switch a.Kind {
	case scenario.Ramp:
		all = append(all, a.Over)
	case scenario.Stages:
		at := time.Duration(0)
		for _, s := range a.Stages {
			at += s.Over
			all = append(all, at)
		}
	case scenario.Burst:
		for at := time.Duration(0); at < to; at += a.Every {
			all = append(all, at+a.Every-a.Over, at+a.Every)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(all, func(at time.Duration) bool { return at < from || at > to })
}

// integral returns the number of due tasks in an interval. On a linear piece it is the rate in
// the middle times the length.
func integral(a scenario.Arrivals, from, to time.Duration) (tasks float64) {
	all := edges(a, from, to)
	for i := 1; i < len(all); i++ {
		tasks += rateAt(a, (all[i-1]+all[i])/2) * (all[i] - all[i-1]).Seconds()
	}
	return tasks
}

func drawArrivals(t *rapid.T) scenario.Arrivals {
	rate := func(label string) scenario.Rate {
		return scenario.Rate{PerSecond: rapid.Float64Range(1, 3000).Draw(t, label)}
	}
	length := func(label string, least time.Duration) time.Duration {
		return least + time.Duration(rapid.Int64Range(1, 1e9).Draw(t, label))
	}
	a := scenario.Arrivals{
		Kind: rapid.SampledFrom([]string{scenario.Open, scenario.Ramp, scenario.Burst, scenario.Stages}).Draw(t, "kind"),
		Rate: rate("rate"), To: rate("to"), Over: length("over", time.Millisecond),
	}
	if rapid.Bool().Draw(t, "same") {
		a.To = a.Rate
	}
	a.Every = length("every", a.Over)
	for range rapid.IntRange(1, 5).Draw(t, "stages") {
		stage := scenario.Stage{To: rate("stage to"), Over: length("stage over", 100*time.Millisecond)}
		switch rapid.IntRange(0, 3).Draw(t, "shape") {
		case 0:
			stage.Over = 0
		case 1:
			stage.To = scenario.Rate{}
		}
		a.Stages = append(a.Stages, stage)
	}
	return a
}

// In any interval the number of due tasks is the integral of the rate, to within one task.
func TestTasksAreDueAsTheRateSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawArrivals(t)
		warmup := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "warm-up"))
		window := span{start: int64(warmup)}
		window.end = window.start + rapid.Int64Range(1e6, 3e9).Draw(t, "window")
		s := scheduleOf(window, newPacer(a))

		require.Equal(t, window.start, s.at(0))
		require.GreaterOrEqual(t, s.at(s.next), int64(0), "the schedule begins at the launch")
		require.Less(t, s.at(s.next-1), int64(1), "all later tasks are sent")
		n := int64(s.scheduled())
		require.Less(t, s.at(n-1), window.end)
		require.GreaterOrEqual(t, s.at(n), window.end)
		require.InDelta(t, integral(a, 0, time.Duration(window.end-window.start)), float64(n), 1.001)
		require.InEpsilon(t, integral(a, 0, time.Duration(window.end-window.start))/time.Duration(window.end-window.start).Seconds(),
			meanPerSecond(s.pacer, time.Duration(window.end-window.start)), 1e-6)

		var due []int64
		for k := s.next; k < n; k++ {
			due = append(due, s.at(k))
		}
		require.True(t, slices.IsSorted(due))
		from := rapid.Int64Range(0, window.end).Draw(t, "from")
		to := rapid.Int64Range(from, window.end).Draw(t, "to")
		inside := 0
		for _, at := range due {
			if from <= at && at < to {
				inside++
			}
		}
		require.InDelta(t, integral(a, time.Duration(from)-warmup, time.Duration(to)-warmup), float64(inside), 1.001)
	})
}

// Pacers do not drift after a day, even at the highest rates.
func TestFlowsDoNotDrift(t *testing.T) {
	day := float64(24 * time.Hour)
	for name, a := range map[string]scenario.Arrivals{
		"steady":            {Kind: scenario.Open},
		"ramp":              {Kind: scenario.Ramp, Over: time.Hour},
		"ramp that is long": {Kind: scenario.Ramp, Over: 48 * time.Hour},
		"burst":             {Kind: scenario.Burst, Over: time.Millisecond, Every: time.Second},
		"stages": {Kind: scenario.Stages, Stages: []scenario.Stage{
			{To: scenario.Rate{PerSecond: 1e6}, Over: time.Hour}, {}, {Over: time.Hour}, {To: scenario.Rate{PerSecond: 1e3}, Over: time.Second},
		}},
	} {
		a.Rate, a.To = scenario.Rate{PerSecond: 100e6}, scenario.Rate{PerSecond: 1}
		f := newPacer(a)
		tasks := f.count(day)
		assert.InDelta(t, day, f.due(tasks), 1e3, "%s: a microsecond in a day", name)
		assert.InEpsilon(t, integral(a, 0, 24*time.Hour), tasks, 1e-9, name)
		assert.False(t, math.IsNaN(f.due(tasks*2)), name)
	}
}

// More than a million unsent tasks are recorded in groups, each within a millionth of the window.
func TestVeryManyUnsentTasksAreAllCounted(t *testing.T) {
	window := span{start: 5, end: 5 + int64(10*time.Second)}
	s := scheduleOf(window, steady(1e6))
	s.next = 3
	censored, slip := newLatencies(), newLatencies()
	require.EqualValues(t, 10e6-3, s.unsent(&censored, &slip))
	h := censored.histogram
	assert.EqualValues(t, 10e6-3, h.TotalCount())
	for _, q := range []float64{1, 50, 99} {
		assert.InEpsilon(t, 0.1*q, time.Duration(h.ValueAtPercentile(q)).Seconds(), 0.011, "p%v", q)
	}
}

// Loads of all kinds meet their schedule if the server is fast enough.
func TestOpenLoadsOfAllKinds(t *testing.T) {
	rate, to := scenario.Rate{PerSecond: 500}, scenario.Rate{PerSecond: 2000}
	for name, c := range map[string]struct {
		arrivals scenario.Arrivals
		tasks    float64 // in the window of 2 s
	}{
		"ramp":            {scenario.Arrivals{Kind: scenario.Ramp, Rate: rate, To: to, Over: 2 * time.Second}, 2500},
		"ramp that ends":  {scenario.Arrivals{Kind: scenario.Ramp, Rate: rate, To: to, Over: time.Second}, 1250 + 2000},
		"ramp that falls": {scenario.Arrivals{Kind: scenario.Ramp, Rate: to, To: rate, Over: 2 * time.Second}, 2500},
		"bursts":          {scenario.Arrivals{Kind: scenario.Burst, Rate: rate, To: to, Every: time.Second, Over: 200 * time.Millisecond}, 2 * (400 + 400)},
		"a single burst":  {scenario.Arrivals{Kind: scenario.Burst, Rate: rate, To: to, Every: 1500 * time.Millisecond, Over: 500 * time.Millisecond}, 750 + 1000},
		"a burst to come": {scenario.Arrivals{Kind: scenario.Burst, Rate: rate, To: to, Every: time.Minute, Over: time.Second}, 1000},
		"stages": {scenario.Arrivals{Kind: scenario.Stages, Rate: rate, Stages: []scenario.Stage{
			{To: to, Over: time.Second}, {Over: 0}, {Over: 500 * time.Millisecond}, {To: rate},
		}}, 1250 + 250},
		"a constant rate": {scenario.Arrivals{Kind: scenario.Open, Rate: rate}, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := open(newBroker(), 1, func(w *scenario.Workload) { w.Arrivals = c.arrivals })
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				requireComplete(t, o)
				assert.InDelta(t, c.tasks, float64(o.Open.Scheduled), 1)
				assert.InDelta(t, c.tasks/2, o.Open.PerSecond, 1e-6)
				assert.Zero(t, o.Open.Unsent+o.Open.Dropped+o.Open.Refused+o.Open.Held)
				assert.Less(t, time.Duration(o.Open.Slip.Max()), time.Microsecond)
				assert.InEpsilon(t, 1200*time.Microsecond, o.CycleLatency.ValueAtPercentile(50), 0.01)
				assert.True(t, o.Drained)
			})
		})
	}
}

// scheduleOf returns a schedule for a window whose warm-up begins at the epoch.
func scheduleOf(window span, p pacer) *schedule {
	s := newSchedule(clock{}, 1, nil)
	s.begin(0, window, p)
	return s
}

// The gaps of a Poisson process are independent and have an exponential distribution.
func TestPoissonArrivals(t *testing.T) {
	const perSecond, length = 10_000, 10 * time.Second
	p := newPoisson(7, perSecond, length)
	require.True(t, slices.IsSorted(p.all))
	require.Equal(t, p, newPoisson(7, perSecond, length), "the same seed gives the same arrivals")
	require.NotEqual(t, p.all[:10], newPoisson(8, perSecond, length).all[:10])
	n := float64(len(p.all))
	assert.InDelta(t, perSecond*10, n, 5*math.Sqrt(perSecond*10))
	within, before := 0.0, 0.0
	for k, at := range p.all {
		require.GreaterOrEqual(t, at, 0.0)
		require.Less(t, at, float64(length))
		require.Equal(t, at, p.due(float64(k)))
		if at-before < 1e9/perSecond {
			within++
		}
		before = at
	}
	assert.InDelta(t, 1-1/math.E, within/n, 0.01, "of the gaps are shorter than the mean")
	assert.Equal(t, n, p.count(float64(length)))
	assert.Zero(t, p.count(0))
	assert.Equal(t, float64(length), p.due(n))

	s := scheduleOf(span{start: 3, end: 3 + int64(length)}, p)
	s.begin(3, s.window, p)
	assert.Zero(t, s.next)
	assert.EqualValues(t, len(p.all), s.scheduled())
}

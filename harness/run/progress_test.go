package run

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// screened replaces control characters by marks, so that each redraw is on a separate line.
func screened(text string) string { return strings.ReplaceAll(text, "\r\x1b[K", "<erased>\n") }

// clock is a time source that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func shown(rate float64) map[string]float64 {
	return map[string]float64{
		result.CyclesPerS: rate, result.CPUUsPerCycle: 12.34, result.ServerCPUUsPerCycle: 7.29, result.ClientCPUUsPerCycle: 5.05,
		"cycle_latency_ms_p99": 1.234,
	}
}

// tell produces all progress output of a run with two points, a calibration and profiles.
func tell(p *progress, c *clock) {
	p.plan("runs/1-small")
	at := func(number int, phase string, elapsed time.Duration, completed uint64, p99 time.Duration) {
		c.pass(250 * time.Millisecond)
		if hook := p.hook(number); hook != nil {
			hook(load.Progress{Phase: phase, Elapsed: elapsed, Completed: completed, Outstanding: 32, CycleP99: p99})
		}
	}
	at(1, "warmup", 250*time.Millisecond, 1000, 0)
	at(1, "warmup", 500*time.Millisecond, 41_000, 0)
	at(1, "window", 2250*time.Millisecond, 80_000, 1_234*time.Microsecond)
	at(1, "window", 2500*time.Millisecond, 120_000, 1_300*time.Microsecond)
	at(1, "drain", 4250*time.Millisecond, 1_120_000, 1_300*time.Microsecond)
	c.pass(4250 * time.Millisecond)
	p.round(&result.Round{Number: 1, Calibration: true, Cycles: 9, Verdict: result.Pass, Metrics: shown(151_234.4)})
	at(2, "filling", 250*time.Millisecond, 500, 0)
	// If no time has passed, no rate is shown.
	at(2, "window", 250*time.Millisecond, 900, 0)
	at(2, "window", 500*time.Millisecond, 800, 0)
	p.round(&result.Round{
		Number: 2, Point: 1, Cycles: 9, Verdict: result.Pass, Metrics: shown(75_600),
		Arrivals: &result.Arrivals{PerSecond: 75_600, Unfinished: 1, Unsent: 2, Dropped: 3},
	})
	p.round(&result.Round{Number: 3, Verdict: result.Invalid, Reasons: []string{"the host slept\nfor long", "never mind"}})
	p.round(&result.Round{Number: 4, Profiled: true, Verdict: result.Pass, Metrics: map[string]float64{result.ServerCPUCores: 0.25}})
	p.round(&result.Round{Number: 77, Verdict: result.Incorrect})
	at(4, "window", 2*time.Second, 1000, 0)
	p.clear()
	p.clear()
	p.done(&result.Result{
		Scenario: "small", Verdict: result.Invalid, Reasons: []string{"round 3: the host slept"}, Warnings: []string{"no frequency"},
		Metrics: map[string]result.Metric{result.Lost: {N: 4, Unit: "tasks"}},
		Points: []result.Point{
			{Number: 1, Name: "batch=1", Metrics: map[string]result.Metric{
				result.CyclesPerS: {Median: 75_600, Low: 75_000, High: 76_200, N: 7}, "cycle_latency_ms_p99": {Median: 1.234, N: 7},
			}},
			{Number: 2, Name: "batch=64"},
		},
	})
}

// told is a run of two points whose rate is a part of a peak.
func told() *scenario.Scenario {
	s := small()
	s.Rounds, s.Captures = 1, []scenario.Capture{{Kind: "cpu"}}
	s.Phases = scenario.Phases{Warmup: 2 * time.Second, Window: 2 * time.Second, Drain: 30 * time.Second}
	first, second := s.Plan()[0], s.Plan()[0]
	first.Name, second.Name = "batch=1", "batch=64"
	s.Points = []scenario.Point{first, second}
	return s
}

func TestProgressOffATerminal(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	c := &clock{at: time.Unix(1000, 0)}
	tell(newProgress(Options{Progress: &text, now: c.now}, told()), c)
	golden.Text(t, "testdata/progress/plain.txt", text.String())
	assert.NotContains(t, text.String(), "\r")
	assert.NotContains(t, text.String(), "\x1b", "no control characters")
}

// A run in a series shows its position and the remaining time of the series, and omits its tables.
func TestProgressOfOneOfSeveral(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	c := &clock{at: time.Unix(1000, 0)}
	place := &Place{Number: 2, Of: 3, After: time.Minute}
	tell(newProgress(Options{Progress: &text, now: c.now, Terminal: true, Place: place, Columns: func() int { return 200 }}, told()), c)
	golden.Text(t, "testdata/progress/place.txt", screened(text.String()))
	assert.NotContains(t, text.String(), "what they are")
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	c := &clock{at: time.Unix(1000, 0)}
	tell(newProgress(Options{Progress: &text, Terminal: true, Columns: func() int { return 140 }, now: c.now}, told()), c)
	golden.Text(t, "testdata/progress/terminal.txt", screened(text.String()))
}

// The CPU time of a killed server is unknown: the line omits it rather than showing 0.
func TestARoundWithoutCPUTimeShowsNone(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	metrics := shown(75_600)
	for _, side := range []string{result.CPUUsPerCycle, result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle} {
		delete(metrics, side)
	}
	newProgress(Options{Progress: &text}, small()).round(&result.Round{Number: 1, Cycles: 9, Verdict: result.Pass, Metrics: metrics})
	golden.Text(t, "testdata/progress/no-cpu-time.txt", text.String())
}

// A line that wraps could not be erased.
func TestProgressFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]int{20: 19, 0: 79} {
		var text bytes.Buffer
		o := Options{Progress: &text, Terminal: true, Columns: func() int { return columns }}
		if columns == 0 {
			o.Columns = nil
		}
		newProgress(o, small()).load(1, load.Progress{Phase: "drain", Elapsed: time.Second, Completed: 1 << 60, Outstanding: 1 << 60})
		assert.Len(t, text.String(), want)
	}
}

// Without workers the live line shows the rate of sent tasks.
func TestProgressOfEnqueuesAlone(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	newProgress(Options{Progress: &text, Terminal: true, Columns: func() int { return 200 }}, enqueuing()).load(1, load.Progress{
		Phase: "window", Elapsed: time.Second, Sent: 5, Outstanding: 5,
	})
	golden.Text(t, "testdata/progress/enqueues.txt", screened(text.String()))
}

// The remaining time is that of the remaining rounds, each with the average overhead of the earlier
// ones.
func TestPace(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	p := pace{planned: 10 * time.Second, rounds: 3}
	p.begin(start)
	assert.Equal(t, 33*time.Second, p.left(start), "one second of overhead is assumed until it is known")
	assert.Equal(t, 29*time.Second, p.left(at(4)))
	assert.Equal(t, 22*time.Second, p.left(at(60)), "a late round does not make the remaining time negative")
	p.ended(at(14))
	assert.Equal(t, 28*time.Second, p.left(at(14)))
	p.ended(at(14 + 12))
	assert.Equal(t, 13*time.Second, p.left(at(26)), "the mean of 4 s and 2 s")
	for range 7 {
		p.ended(at(30))
	}
	assert.Zero(t, p.left(at(100)), "more rounds than planned")
}

// Interleaved arms multiply the rounds, and the line names the current arm.
func TestProgressOfArms(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	c := &clock{at: time.Unix(1000, 0)}
	s := small()
	s.Rounds, s.Phases = 2, scenario.Phases{Window: 10 * time.Second}
	p := newProgress(Options{Progress: &text, Terminal: true, Columns: func() int { return 200 }, now: c.now}, s)
	p.beside(3)
	draw := func() string {
		text.Reset()
		p.hook(1)(load.Progress{Phase: "window", Elapsed: time.Second, Completed: 5})
		return strings.TrimPrefix(text.String(), "\r\x1b[K")
	}
	over := p.turn("control")
	texts := golden.Cases(t, "testdata/progress/arms.golden")
	texts.Equal(t, "turn of control", draw())
	c.pass(12 * time.Second)
	over()
	texts.Equal(t, "no turn", draw())
}

func TestProgressAtTheEnd(t *testing.T) {
	t.Parallel()
	metrics := map[string]result.Metric{
		result.CyclesPerS:              {Median: 151_234, Low: 140_040, High: 160_060, N: 7, Unit: "1/s"},
		result.CycleLatencyMs + "_p99": {Median: 1.234, Low: 1.1, High: 2.5, N: 7, Unit: "ms"},
		result.ServerRSSMBMax:          {Median: 187, Low: 186, High: 190, N: 3, Unit: "MB"},
		result.Lost:                    {N: 8, Unit: "tasks"},
		// In the result, not in the table.
		result.EnqueueLatencyMs + "_p999": {Median: 9, N: 7, Unit: "ms"},
	}
	broken := maps.Clone(metrics)
	broken[result.Lost] = result.Metric{Median: 2, High: 2, N: 8, Unit: "tasks"}
	for _, c := range []struct {
		name   string
		result result.Result
	}{
		{"pass", result.Result{Verdict: result.Pass, Metrics: metrics, Warnings: []string{"no peak"}}},
		{"workloads", result.Result{Verdict: result.Pass, Metrics: metrics, Workloads: []result.Workload{{Name: "quiet", Metrics: metrics}}}},
		{"incorrect", result.Result{
			Verdict: result.Incorrect, Metrics: broken, Reasons: []string{"a", "b"},
			Workloads: []result.Workload{{Name: "quiet", Metrics: metrics}}, Points: []result.Point{{Name: "batch=1", Metrics: metrics}},
		}},
		{"many reasons", result.Result{Verdict: result.Invalid, Reasons: []string{"1", "2", "3", "4", "5", "6", "7", "8"}}},
		{"misconfigured", result.Result{Verdict: result.Misconfigured}},
		{"idle", result.Result{Verdict: result.Pass, Metrics: map[string]result.Metric{result.ServerCPUCores: {Median: 0.25, Low: 0.2, High: 0.3, N: 3, Unit: "CPUs"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text bytes.Buffer
			c.result.Scenario = "small"
			newProgress(Options{Progress: &text}, small()).done(&c.result)
			golden.Text(t, "testdata/progress/end-"+strings.ReplaceAll(c.name, " ", "-")+".txt", text.String())
			if c.result.Verdict == result.Incorrect {
				assert.NotContains(t, text.String(), "151,", "a broken ledger suppresses the figures")
			}
		})
	}
	newProgress(Options{}, small()).done(&result.Result{Verdict: result.Pass}) // without a writer
	var text bytes.Buffer
	newProgress(Options{Progress: &text, JudgedLater: true}, small()).done(&result.Result{Scenario: "small", Verdict: result.Pass, Metrics: metrics})
	golden.Text(t, "testdata/progress/judged-later.txt", text.String())
}

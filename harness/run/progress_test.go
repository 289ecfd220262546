package run

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// tell goes through everything that a run shows.
func tell(p *progress) {
	p.plan("runs/1-small")
	p.load(1, load.Progress{Phase: "warmup", Elapsed: 250 * time.Millisecond, Completed: 1000, Outstanding: 7})
	p.load(1, load.Progress{Phase: "window", Elapsed: 500 * time.Millisecond, Completed: 4000, Outstanding: 32})
	p.round(&result.Round{Number: 1, Cycles: 9, Verdict: result.Pass, Metrics: map[string]float64{
		result.CyclesPerS: 151234.4, result.CPUUsPerCycle: 12.34, result.ServerCPUUsPerCycle: 7.29, result.ClientCPUUsPerCycle: 5.05,
		"cycle_latency_ms_p99": 1.234,
	}}, "")
	p.load(2, load.Progress{Phase: "warmup", Elapsed: 250 * time.Millisecond, Completed: 500, Outstanding: 1})
	// What no clock yields must not show as a rate either.
	p.load(2, load.Progress{Phase: "window", Elapsed: 250 * time.Millisecond, Completed: 900})
	p.load(2, load.Progress{Phase: "window", Elapsed: 500 * time.Millisecond, Completed: 800})
	p.round(&result.Round{Number: 2, Profiled: true, Verdict: result.Incorrect, Reasons: []string{"never mind"}}, "")
	p.clear()
}

func TestProgressOffATerminal(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds, s.Captures = 3, []scenario.Capture{{Kind: "cpu"}}
	s.Phases = scenario.Phases{Warmup: time.Second, Window: 3 * time.Second, Drain: 30 * time.Second}
	var text bytes.Buffer
	tell(newProgress(Options{Progress: &text}, s))
	assert.Equal(t, `small: durability none, 3 rounds and a profiled one of 1s + 3s; at most 2m16s
small: run folder runs/1-small
  round 1: 151234 cycles/s, 12.3 µs CPU per cycle (server 7.3, client 5.0), p99 1.23 ms
  round 2 (profiled): incorrect
`, text.String())
}

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	s := small()
	s.Phases = scenario.Phases{Window: 3 * time.Second, Drain: 30 * time.Second}
	var text bytes.Buffer
	tell(newProgress(Options{Progress: &text, Terminal: true}, s))
	const erase = "\r\x1b[K"
	assert.Equal(t, "small: durability none, 1 rounds of 0s + 3s; at most 33s\n"+
		"small: run folder runs/1-small\n"+
		"  round 1: warmup 0.2s, 4000 cycles/s, 7 outstanding"+
		erase+"  round 1: window 0.5s, 12000 cycles/s, 32 outstanding"+
		erase+"  round 1: 151234 cycles/s, 12.3 µs CPU per cycle (server 7.3, client 5.0), p99 1.23 ms\n"+
		"  round 2: warmup 0.2s, 0 cycles/s, 1 outstanding"+
		erase+"  round 2: window 0.2s, 0 cycles/s, 0 outstanding"+
		erase+"  round 2: window 0.5s, 0 cycles/s, 0 outstanding"+
		erase+"  round 2 (profiled): incorrect\n", text.String())
}

func TestProgressClearsItsLine(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	p := newProgress(Options{Progress: &text, Terminal: true}, small())
	p.load(1, load.Progress{Phase: "drain", Elapsed: time.Second, Completed: 10})
	p.clear()
	p.clear()
	assert.Equal(t, "  round 1: drain 1.0s, 10 cycles/s, 0 outstanding\r\x1b[K", text.String())
}

func TestProgressAtTheEnd(t *testing.T) {
	t.Parallel()
	metrics := map[string]result.Metric{result.CyclesPerS: {Median: 1500, Low: 1400.4, High: 1600.6, N: 7}}
	for _, c := range []struct {
		name   string
		result result.Result
		want   string
	}{
		{
			"pass",
			result.Result{Verdict: result.Pass, Metrics: metrics, Warnings: []string{"no peak"}},
			"small: warning: no peak\nsmall: pass: 1500 cycles/s (1400 to 1601 over 7 rounds), durability none\n",
		},
		{
			"no figure beside a broken ledger",
			result.Result{Verdict: result.Incorrect, Metrics: metrics, Reasons: []string{"a", "b"}},
			"small: a\nsmall: b\nsmall: incorrect\n",
		},
		{"no figure at all", result.Result{Verdict: result.Misconfigured}, "small: misconfigured\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text bytes.Buffer
			c.result.Scenario = "small"
			newProgress(Options{Progress: &text}, small()).done(&c.result)
			assert.Equal(t, c.want, text.String())
		})
	}
	newProgress(Options{}, small()).done(&result.Result{Verdict: result.Pass}) // nobody reads it
}

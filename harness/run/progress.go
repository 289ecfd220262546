package run

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// progress tells a person how far the run is: on a terminal one line that is drawn over, elsewhere a line a round.
type progress struct {
	scenario *scenario.Scenario
	terminal bool

	mu   sync.Mutex
	w    io.Writer
	last load.Progress
	live bool // the cursor is on a line to be drawn over
}

func newProgress(o Options, s *scenario.Scenario) *progress {
	w := o.Progress
	if w == nil {
		w = io.Discard
	}
	return &progress{scenario: s, terminal: o.Terminal, w: w}
}

// line writes a line that stays. What can't be written is a person's loss only.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	_, _ = fmt.Fprintf(p.w, format+"\n", args...)
}

// clear takes the live line away.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *progress) erase() {
	if p.live {
		_, _ = fmt.Fprint(p.w, "\r\x1b[K")
		p.live = false
	}
}

func (p *progress) plan(folder string) {
	profiled := ""
	if len(p.scenario.Captures) > 0 {
		profiled = " and a profiled one"
	}
	p.line("%s: durability %s, %d rounds%s of %v + %v; at most %v", p.scenario.Name, p.scenario.Topology.Durability,
		p.scenario.Rounds, profiled, p.scenario.Phases.Warmup, p.scenario.Phases.Window, p.scenario.Duration().Round(time.Second))
	p.line("%s: run folder %s", p.scenario.Name, folder)
}

// load draws the live line.
func (p *progress) load(number int, now load.Progress) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rate := 0.0
	if step := (now.Elapsed - p.last.Elapsed).Seconds(); step > 0 && now.Completed >= p.last.Completed {
		rate = float64(now.Completed-p.last.Completed) / step
	}
	p.last = now
	p.erase()
	_, _ = fmt.Fprintf(p.w, "  round %d: %s %.1fs, %.0f cycles/s, %d outstanding",
		number, now.Phase, now.Elapsed.Seconds(), rate, now.Outstanding)
	p.live = true
}

func (p *progress) round(r *result.Round) {
	kind := ""
	if r.Profiled {
		kind = " (profiled)"
	}
	if r.Verdict != result.Pass {
		p.line("  round %d%s: %s", r.Number, kind, r.Verdict)
		return
	}
	p.line("  round %d%s: %.0f cycles/s, %.1f µs CPU per cycle (server %.1f, client %.1f), p99 %.2f ms", r.Number, kind,
		r.Metrics[result.CyclesPerS], r.Metrics[result.CPUUsPerCycle], r.Metrics[result.ServerCPUUsPerCycle],
		r.Metrics[result.ClientCPUUsPerCycle], r.Metrics[result.CycleLatencyMs+"_p99"])
}

func (p *progress) done(r *result.Result) {
	for _, warning := range r.Warnings {
		p.line("%s: warning: %s", r.Scenario, warning)
	}
	for _, reason := range r.Reasons {
		p.line("%s: %s", r.Scenario, reason)
	}
	m, ok := r.Metrics[result.CyclesPerS]
	if !ok || r.Verdict == result.Incorrect {
		p.line("%s: %s", r.Scenario, r.Verdict)
		return
	}
	p.line("%s: %s: %.0f cycles/s (%.0f to %.0f over %d rounds), durability %s", r.Scenario, r.Verdict, m.Median, m.Low, m.High, m.N,
		p.scenario.Topology.Durability)
}

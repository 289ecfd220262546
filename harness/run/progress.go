package run

import (
	"fmt"
	"io"
	"slices"
	"strings"
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
	s := p.scenario
	rounds, profiled := fmt.Sprintf("%d rounds", s.Rounds), ""
	if len(s.Points) > 0 {
		rounds = fmt.Sprintf("%d points of %s", len(s.Points), rounds)
	}
	if len(s.Captures) > 0 {
		profiled = " and a profiled one"
	}
	p.line("%s: durability %s, %s%s of %v + %v; at most %v", s.Name, p.durability(),
		rounds, profiled, s.Phases.Warmup, s.Phases.Window, s.Duration().Round(time.Second))
	p.line("%s: run folder %s", s.Name, folder)
}

// durability is that of all points.
func (p *progress) durability() string {
	var all []string
	for _, point := range p.scenario.Plan() {
		if d := point.Topology.Durability; !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return strings.Join(all, ", ")
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

// round says what a round measured. point is its point's name, or "".
func (p *progress) round(r *result.Round, point string) {
	name := fmt.Sprintf("round %d", r.Number)
	if point != "" {
		name += ", " + point
	}
	switch {
	case r.Profiled:
		name += " (profiled)"
	case r.Calibration:
		name += " (to find the peak)"
	}
	if r.Verdict != result.Pass {
		p.line("  %s: %s", name, r.Verdict)
		return
	}
	m := r.Metrics
	if r.Cycles == 0 {
		p.line("  %s: no load, server %.4f CPUs, %.1f MB", name, m[result.ServerCPUCores], m[result.ServerRSSMBMax])
		return
	}
	p.line("  %s: %.0f cycles/s, %.1f µs CPU per cycle (server %.1f, client %.1f), p99 %.2f ms%s", name,
		m[result.CyclesPerS], m[result.CPUUsPerCycle], m[result.ServerCPUUsPerCycle],
		m[result.ClientCPUUsPerCycle], m[result.CycleLatencyMs+"_p99"], parts(r))
}

// parts says what a round measured beside its window's throughput.
func parts(r *result.Round) string {
	var b strings.Builder
	m := r.Metrics
	if a := r.Arrivals; a != nil {
		fmt.Fprintf(&b, "; offered %s, %d unfinished, %d unsent, %d shed, slip p99 %.2f ms",
			scenario.FormatRate(a.PerSecond), a.Unfinished, a.Unsent, a.Shed, m[result.SlipMs+"_p99"])
	}
	if l := r.Backlog; l != nil {
		fmt.Fprintf(&b, "; backlog of %d drained at %.0f cycles/s (%.2f of the window's), %.0f MB",
			l.Tasks, m[result.DrainCyclesPerS], m[result.DrainRatio], m[result.BacklogRSSMBMax])
		if l.Restart != "none" {
			fmt.Fprintf(&b, ", first claim %.2f s after the restart", l.FirstClaimS)
		}
	}
	if f := r.Faults; f != nil && len(f.Events) > 0 {
		fmt.Fprintf(&b, "; faults: %d, first cycle after %.0f ms (worst %.0f), 95 %% after %.0f ms (worst %.0f), %d calls failed", len(f.Events),
			m[result.FaultFirstAckMsMedian], m[result.FaultFirstAckMsMax], m[result.FaultRecoveryMsMedian], m[result.FaultRecoveryMsMax], f.FailedCalls)
	}
	if len(r.Series) > 0 {
		fmt.Fprintf(&b, "; last tenth at %.2f of the second, disk %.0f MB at most", m[result.SteadyRateRatio], m[result.DiskMBMax])
	}
	return b.String()
}

func (p *progress) done(r *result.Result) {
	for _, warning := range r.Warnings {
		p.line("%s: warning: %s", r.Scenario, warning)
	}
	for _, reason := range r.Reasons {
		p.line("%s: %s", r.Scenario, reason)
	}
	for i, point := range r.Points {
		if r.Verdict != result.Incorrect {
			p.summary(r.Scenario+": "+point.Name, point.Metrics, p.scenario.Points[i].Topology.Durability)
			if cost, ok := point.Metrics[result.RateCost]; ok && point.Values[0] != r.Points[0].Values[0] {
				p.line("%s: %s: cost %.3f (%.3f to %.3f over %d turns), durability %s", r.Scenario, point.Name,
					cost.Median, cost.Low, cost.High, cost.N, p.scenario.Points[i].Topology.Durability)
			}
		}
	}
	if r.Verdict == result.Incorrect || !p.summary(fmt.Sprintf("%s: %s", r.Scenario, r.Verdict), r.Metrics, p.durability()) {
		p.line("%s: %s", r.Scenario, r.Verdict)
	}
}

// summary says the first figure of some rounds, and whether there is one.
func (p *progress) summary(of string, metrics map[string]result.Metric, durability string) bool {
	if m, ok := metrics[result.CyclesPerS]; ok {
		p.line("%s: %.0f cycles/s (%.0f to %.0f over %d rounds), durability %s", of, m.Median, m.Low, m.High, m.N, durability)
		return true
	}
	if m, ok := metrics[result.ServerCPUCores]; ok {
		p.line("%s: server %.4f CPUs (%.4f to %.4f over %d rounds), durability %s", of, m.Median, m.Low, m.High, m.N, durability)
		return true
	}
	return false
}

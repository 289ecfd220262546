package run

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// progress reports the progress of a run to a person. It writes a line after each round and a table
// at the end. On a terminal it also redraws one live line during a round. It writes control
// characters only to a terminal.
type progress struct {
	scenario *scenario.Scenario
	terminal bool
	columns  func() int
	now      func() time.Time
	rounds   []plannedRound
	place    *Place
	// judgedLater is set if the caller, not progress, reports the verdict.
	judgedLater bool

	mu   sync.Mutex
	w    io.Writer
	live bool // the cursor is on the live line
	last load.Progress
	pace pace
	arm  string // arm of the current round in a comparison
}

// columnsDefault is the width of the live line if the width of the terminal is unknown.
const columnsDefault = 80

func newProgress(o Options, s *scenario.Scenario) *progress {
	p := &progress{
		scenario: s, terminal: o.Terminal, columns: o.Columns, now: o.now, rounds: planned(s, nil), place: o.Place, w: o.Progress,
		judgedLater: o.JudgedLater,
	}
	if p.w == nil {
		p.w = io.Discard
	}
	if p.columns == nil {
		p.columns = func() int { return columnsDefault }
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.pace = pace{planned: s.Phases.Warmup + s.Phases.Window, rounds: len(p.rounds)}
	return p
}

// line writes a permanent line. It ignores write errors, because the run does not depend on its
// output.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	_, _ = fmt.Fprintln(p.w, fmt.Sprintf(format, args...))
}

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
	rounds, profiled := render.Plural(s.Rounds, "round"), ""
	if len(s.Points) > 0 {
		rounds = render.Plural(len(s.Points), "point") + " of " + rounds
	}
	switch n := s.Profiles(); n {
	case 0:
	case 1:
		profiled = " and a profiled one"
	default:
		profiled = fmt.Sprintf(" and %d profiled ones", n)
	}
	p.line("%s%s: durability %s, %s%s of %v + %v; at most %v", s.Name, p.place.text(), p.durability(),
		rounds, profiled, s.Phases.Warmup, s.Phases.Window, s.Duration().Round(time.Second))
	p.line("%s: run folder %s", s.Name, folder)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.begin(p.now())
}

// targets writes a line for each distinct server that a driver program launches, and one for each
// target that is not measured.
func (p *progress) targets(r *result.Result) {
	var said []string
	for _, t := range r.Manifest.Targets {
		said = append(said, fmt.Sprintf("target %s: %s %s, client %s, guarantee %s, %s", t.Name, t.Product, cmp.Or(t.Version, "of an unknown version"), t.Client, t.Guarantee,
			render.Plural(t.Nodes, "node")))
	}
	for _, left := range r.NotMeasured {
		said = append(said, "not measured: "+left.Why)
	}
	for i, text := range said {
		if p.scenario.Topology.Kind == scenario.ByProgram && !slices.Contains(said[:i], text) {
			p.line("%s: %s", p.scenario.Name, text)
		}
	}
}

func (p *progress) durability() string {
	var all []string
	for _, point := range p.scenario.Plan() {
		if d := point.Topology.Durability; !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return strings.Join(all, ", ")
}

func (p *progress) replan(rounds []plannedRound) {
	p.rounds, p.pace.rounds = rounds, len(rounds)
}

// beside declares that from now on the rounds of several arms are interleaved.
func (p *progress) beside(arms int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.rounds = arms * len(p.rounds)
	p.pace.begin(p.now())
}

// turn marks arm as the current arm until over is called.
func (p *progress) turn(arm string) (over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arm = arm
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.pace.ended(p.now())
		p.last = load.Progress{}
		p.arm = ""
	}
}

func (p *progress) hook(number int) func(load.Progress) {
	if !p.terminal {
		return nil
	}
	return func(now load.Progress) { p.load(number, now) }
}

// load draws the live line. The line is cut to the width of the terminal, because a wrapped line
// could not be erased.
func (p *progress) load(number int, now load.Progress) {
	if !p.terminal {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rate, done, doing, before := 0.0, now.Completed, "cycles", p.last.Completed
	if scenario.Any(p.scenario.Workloads, scenario.Workload.EnqueuesAlone) {
		done, doing, before = now.Sent, "tasks sent", p.last.Sent
	}
	if step := (now.Elapsed - p.last.Elapsed).Seconds(); step > 0 && done >= before {
		rate = float64(done-before) / step
	}
	p.last = now
	var b strings.Builder
	name := p.name(number)
	if p.arm != "" {
		name += ", " + p.arm
	}
	left := p.pace.left(p.now())
	fmt.Fprintf(&b, "  %s, %s, %v left%s: %s %s/s", name, p.phase(now), left.Round(time.Second), p.place.inAll(left), render.Number(rate), doing)
	if now.CycleP99 > 0 {
		fmt.Fprintf(&b, ", p99 %s ms", render.Number(now.CycleP99.Seconds()*1e3))
	}
	fmt.Fprintf(&b, ", %s outstanding, %s completed", render.Count(now.Outstanding), render.Count(now.Completed))
	p.erase()
	_, _ = fmt.Fprint(p.w, cut(b.String(), p.columns()-1))
	p.live = true
}

func cut(line string, columns int) string {
	if columns < 1 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns])
}

// phase describes the progress within the current phase of a round.
func (p *progress) phase(now load.Progress) string {
	phases := p.scenario.Phases
	if now.Warmup > 0 {
		phases.Warmup = now.Warmup
	}
	switch now.Phase {
	case "warmup":
		return fmt.Sprintf("warm-up %.1f/%vs", now.Elapsed.Seconds(), phases.Warmup.Seconds())
	case "window":
		in := min(max(now.Elapsed-phases.Warmup, 0), phases.Window)
		return fmt.Sprintf("window %.1f/%vs", in.Seconds(), phases.Window.Seconds())
	case "drain":
		return fmt.Sprintf("drain %.1fs", max(now.Elapsed-phases.Warmup-phases.Window, 0).Seconds())
	default: // the phases of a backlog report the time since their own start
		return fmt.Sprintf("%s %.1fs", now.Phase, now.Elapsed.Seconds())
	}
}

// name returns the number and the point of a round. Unless the round is timed, it also returns the
// round's purpose.
func (p *progress) name(number int) string {
	name := fmt.Sprintf("round %d", number)
	i := slices.IndexFunc(p.rounds, func(r plannedRound) bool { return r.number == number })
	if i < 0 {
		return name
	}
	name += fmt.Sprintf(" of %d", len(p.rounds))
	if point := p.scenario.Plan()[p.rounds[i].point].Name; point != "" {
		name += ", " + point
	}
	switch p.rounds[i].kind {
	case profiled:
		name += " (profiled)"
	case calibration:
		name += " (to find the peak)"
	case timed:
	}
	return name
}

func (p *progress) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.ended(p.now())
	p.last = load.Progress{}
}

func (p *progress) round(r *result.Round) {
	p.ended()
	name := p.name(r.Number)
	if r.Verdict != result.Pass {
		p.line("  %s: %s%s", name, r.Verdict, firstOf(r.Reasons))
		return
	}
	m := r.Metrics
	if r.Enqueues > 0 {
		p.line("  %s: %s enqueues/s, server %s CPUs, p99 %s ms, %s left", name, render.Number(m[result.EnqueuesPerS]),
			render.Number(m[result.ServerCPUCores]), render.Number(m[result.EnqueueLatencyMs+"_p99"]), render.Plural(int(r.Ledger.Left), "task"))
		return
	}
	if r.Cycles == 0 {
		p.line("  %s: no load, server %s CPUs, %s MB", name, render.Number(m[result.ServerCPUCores]), render.Number(m[result.ServerRSSMBMax]))
		return
	}
	p.line("  %s: %s cycles/s%s, p99 %s ms%s", name, render.Number(m[result.CyclesPerS]), cpuOf(r), render.Number(m[result.CycleLatencyMs+"_p99"]), parts(r))
}

// cpuOf returns a text about a round's CPU time per cycle, split into server and client if they are
// separate processes. It returns "" if a fault ended a server, because the CPU time of an ended
// process is not read.
func cpuOf(r *result.Round) string {
	cpu, known := r.Metrics[result.CPUUsPerCycle]
	if !known {
		return ""
	}
	text := fmt.Sprintf(", %s µs CPU per cycle", render.Number(cpu))
	if server, apart := r.Metrics[result.ServerCPUUsPerCycle]; apart {
		text += fmt.Sprintf(" (server %s, client %s)", render.Number(server), render.Number(r.Metrics[result.ClientCPUUsPerCycle]))
	}
	return text
}

// firstOf returns the first line of the first reason. All reasons are listed at the end of the run.
func firstOf(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	first, _, _ := strings.Cut(reasons[0], "\n")
	return ": " + first
}

// parts describes what a round measured in addition to the throughput of its window.
func parts(r *result.Round) string {
	var b strings.Builder
	m := r.Metrics
	number := func(metric string) string { return render.Number(m[metric]) }
	if a := r.Arrivals; a != nil {
		fmt.Fprintf(&b, "; offered %s, %s unfinished, %s unsent, %s dropped, slip p99 %s ms", scenario.FormatRate(a.PerSecond),
			render.Count(a.Unfinished), render.Count(a.Unsent), render.Count(a.Dropped), number(result.SlipMs+"_p99"))
	}
	if l := r.Backlog; l != nil {
		fmt.Fprintf(&b, "; backlog of %s drained at %s cycles/s (%s of the window's), %s MB",
			render.Count(l.Tasks), number(result.DrainCyclesPerS), number(result.DrainRatio), number(result.BacklogRSSMBMax))
		if l.Restart != "none" {
			fmt.Fprintf(&b, ", first claim %s s after the restart", render.Number(l.FirstClaimS))
		}
	}
	if f := r.Faults; f != nil && len(f.Events) > 0 {
		fmt.Fprintf(&b, "; faults: %d, ", len(f.Events))
		if _, any := m[result.FaultFirstAckMsMax]; any {
			fmt.Fprintf(&b, "first cycle after %s ms (worst %s), ", number(result.FaultFirstAckMsMedian), number(result.FaultFirstAckMsMax))
		}
		not, watchedMs := f.NotRecovered()
		if not < len(f.Events) {
			fmt.Fprintf(&b, "%d recovered after %s ms (worst %s), ", len(f.Events)-not, number(result.FaultRecoveryMsMedian), number(result.FaultRecoveryMsMax))
		}
		if not > 0 {
			fmt.Fprintf(&b, "%d had not recovered after %s ms, ", not, render.Number(watchedMs))
		}
		fmt.Fprintf(&b, "%s failed", render.Plural(int(f.FailedCalls), "call"))
	}
	if len(r.Series) > 0 {
		fmt.Fprintf(&b, "; last tenth at %s of the second, disk %s MB at most", number(result.SteadyRateRatio), number(result.DiskMBMax))
	}
	return b.String()
}

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
	"github.com/pronybench/prony/harness/stat"
)

// writeExplanation writes what a run of a scenario does as text.
func writeExplanation(b *strings.Builder, s *scenario.Scenario, e explained) {
	line := func(key, format string, args ...any) {
		fmt.Fprintf(b, "  %-10s %s\n", key, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(b, "%s: %s\n", s.Name, s.Title)
	line("file", "%s", s.File)
	if len(s.Tags) > 0 {
		line("tags", "%s", strings.Join(s.Tags, ", "))
	}
	for _, v := range s.Variables {
		from := "the file's"
		if v.Given {
			from = "given"
		}
		line("variable", "%s = %s (%s)", v.Name, v.Value, from)
	}
	line("topology", "%s", topologyInWords(s.Topology))
	for _, w := range s.Workloads {
		line("workload", "%s", workloadInWords(w))
	}
	if s.Soak == nil {
		start := "a fresh start"
		if s.Topology.Attached() {
			start = "the same servers"
		}
		line("round", start+", %s of warm-up, a window of %s, a drain of at most %s", warmupText(s.Phases),
			windowText(s.Phases), hclfile.FormatDuration(s.Phases.Drain))
	}
	if l := s.Backlog; l != nil {
		if scenario.Any(s.Workloads, scenario.Workload.ClaimsAlone) {
			line("backlog", "%s tasks, enqueued before each warm-up, and claimed from its start", render.Count(l.Tasks))
		} else {
			cache := ""
			if l.ColdCache {
				cache = " on a cold page cache"
			}
			line("backlog", "%s tasks, restart %s%s, after each timed window", render.Count(l.Tasks), l.Restart, cache)
		}
	}
	for _, f := range s.Faults {
		line("fault", "%s", faultInWords(f))
	}
	if a := s.Attack; a != nil {
		clients := ", by " + render.Plural(a.Clients, "client") + " of each kind"
		if len(s.Points) > 0 { // the points have their own numbers of clients
			clients = ""
		}
		line("attack", "%s%s", strings.Join(a.Kinds, ", "), clients)
	}
	if s.Observe != nil {
		line("observe", "%s", observedText(s))
	}
	if r := s.Recurring; r != nil {
		line("recurring", "%s, each due every %s", render.Plural(r.Tasks, "recurring task"), hclfile.FormatDuration(r.Interval))
	}
	for _, i := range s.Invariants {
		line("invariant", "%s", i)
	}
	for _, l := range s.Limits {
		line("limit", "%s %s: %s", l.Name(), l.Bound(), l.Because)
	}
	for _, sweep := range s.Sweeps {
		line("sweep", "%s = %s", sweep.Path, strings.Join(sweep.Values, " | "))
	}
	if len(s.Points) > 0 {
		line("points", "%d, which take turns:", len(s.Points))
		for i, p := range e.Points {
			line("", "%2d. %s%s", i+1, p.Name, offered(p))
		}
	} else if words := offered(e.Points[0]); words != "" {
		line("offered", "%s", strings.TrimPrefix(words, ": "))
	}
	if s.Score != nil {
		line("score", "%s", scoreInWords(*s.Score))
	}
	if s.Soak != nil {
		writeSoak(line, s)
		return
	}
	line("rounds", "%s", roundsInWords(s))
	line("time", "about %s, at most %s plus the starts: this assumes a start and a stop of %s and a drain of %s for each round", roughly(s.Expected()),
		roughly(s.Duration()), hclfile.FormatDuration(s.StartExpected()), hclfile.FormatDuration(min(s.Phases.Drain, scenario.DrainExpected)))
	line("repeat", "invalid rounds are measured again at the end, each at most twice, unless they are more than %d", s.RepeatsMax())
	writeLimits(b, s, e)
}

// writeSoak writes what a soak does, its duration and its limits.
func writeSoak(line func(key, format string, args ...any), s *scenario.Scenario) {
	soak := s.Soak
	windows := s.SoakWindows(soak.For)
	line("soak", "%s of measured time: one start, %s of warm-up, %s of %s, each with a drain of at most %s", hclfile.FormatDuration(soak.For),
		warmupText(s.Phases), render.Plural(windows, "window"), hclfile.FormatDuration(s.Phases.Window), hclfile.FormatDuration(s.Phases.Drain))
	judged := windows
	if soak.FaultsEvery > 0 {
		judged -= windows / soak.FaultsEvery
		line("", "faults in each window whose number is a multiple of %d: in %s", soak.FaultsEvery, render.Plural(windows/soak.FaultsEvery, "window"))
	}
	line("keep", "the results of single windows for %s, at most %s in total", hclfile.FormatDuration(soak.Keep.Age), scenario.FormatDiskSize(soak.Keep.Bytes))
	var limits []string
	for _, figure := range scenario.SoakFigures {
		limits = append(limits, fmt.Sprintf("%s %s %%", figure, strconv.FormatFloat(soak.Drift(figure), 'f', -1, 64)))
	}
	line("drift", "between start and end, less than: %s", strings.Join(limits, ", "))
	if judged < stat.DriftMinN {
		line("", "judging needs %d windows without faults, and there are %d: the verdict will be inconclusive", stat.DriftMinN, judged)
	}
	line("time", "about %s, at most %s plus the start: this assumes a drain of %s for each window", roughly(s.Expected()), roughly(s.Duration()),
		hclfile.FormatDuration(min(s.Phases.Drain, scenario.DrainExpected)))
}

// writeLimits writes what the rounds can show.
func writeLimits(b *strings.Builder, s *scenario.Scenario, e explained) {
	fmt.Fprintf(b, "  cycles that a percentile needs for a bounded 95 %% interval, in the %s of a point together:\n", render.Plural(s.Rounds, "timed window"))
	for _, p := range e.Percentiles {
		enough := ""
		if p.Offered {
			enough = "; the load offers enough"
		}
		fmt.Fprintf(b, "    p%-6s %7s cycles, %s cycles/s%s\n", strconv.FormatFloat(p.Percentile, 'f', -1, 64), render.Count(p.CyclesMin), render.Digits(p.CyclesPerS, 3), enough)
	}
	if len(e.Effects) == 0 {
		fmt.Fprintf(b, "  %s of each side cannot detect any change: this needs %d\n", render.Plural(s.Rounds, "round"), stat.MinPairs(effectLevel))
		return
	}
	fmt.Fprintf(b, "  the smallest change that %d rounds of each side detect, with a power of %.0f %% at a level of %.0f %%:\n",
		s.Rounds, 100*stat.Power, 100*effectLevel)
	for _, f := range e.Effects {
		fmt.Fprintf(b, "    %4.1f %% if the ratio of two paired rounds varies by %.0f %%\n", 100*f.Effect, 100*f.Spread)
	}
	b.WriteString("  this assumes independent rounds, log-normal ratios and one metric; `prony compare` judges several at once\n")
}

func scoreInWords(score scenario.Score) string {
	var metrics []string
	for _, m := range score.Metrics {
		text := m.Name
		if m.Weight != 1 {
			text += " (weight " + strconv.FormatFloat(m.Weight, 'f', -1, 64) + ")"
		}
		metrics = append(metrics, text)
	}
	return "of a ratchet: geometric mean of the ratios of " + strings.Join(metrics, ", ")
}

func topologyInWords(t scenario.Topology) string {
	if t.Kind == scenario.NoTopology {
		return "none: no server"
	}
	words := append([]string{t.String()}, t.Words()...)
	if t.Coalesce != nil && !*t.Coalesce {
		words = append(words, "one Raft entry for each command")
	}
	words = append(words, t.ServerSettings()...)
	if t.Build != nil {
		words = append(words, t.Build.String())
	}
	if t.Hosts != nil {
		words = append(words, t.Hosts.String())
	}
	if t.Remote != nil {
		words = append(words, remoteInWords(t))
	}
	if t.Target != nil {
		words = append(words, targetInWords(*t.Target))
	}
	return strings.Join(words, ", ")
}

func targetInWords(t scenario.TargetServers) string {
	words := "started by the driver program"
	if len(t.Addresses) > 0 {
		words = "attached at " + strings.Join(t.Addresses, ", ") + " by the driver program"
	}
	if t.Program != "" {
		words += " " + t.Program
	}
	return words
}

func remoteInWords(t scenario.Topology) string {
	var nodes []string
	for _, n := range t.Remote.Nodes {
		at := n.Name + " at " + n.Address
		if n.SSH != "" {
			at += " by ssh " + n.SSH
		}
		nodes = append(nodes, at)
	}
	does := "started: "
	if t.Attached() {
		does = "attached, not restarted: "
	}
	return does + strings.Join(nodes, ", ")
}

func workloadInWords(w scenario.Workload) string {
	words := []string{
		fmt.Sprintf("%s: %s %s", w.Name, w.Arrivals, driverInWords(w)),
		fmt.Sprintf("%s and %s", render.Plural(w.Producers, "producer"), render.Plural(w.Workers, "worker slot")),
		queuesInWords(w),
		callsInWords(w),
		fmt.Sprintf("payload %s", w.Payload),
	}
	words = append(words, w.Words()...)
	if w.Procs > 0 {
		words = append(words, fmt.Sprintf("GOMAXPROCS %d", w.Procs))
	}
	return strings.Join(words, ", ")
}

func queuesInWords(w scenario.Workload) string {
	words := fmt.Sprintf("%s with %s each", render.Plural(w.Tenants, "tenant"), render.Plural(w.QueuesOfTenant(), "queue"))
	if w.QueuePerWorker {
		words += ", one for each worker slot"
	}
	return words
}

func callsInWords(w scenario.Workload) string {
	if w.EnqueueBatch() == w.ClaimBatch() {
		return "calls of " + render.Plural(w.EnqueueBatch(), "task")
	}
	return fmt.Sprintf("enqueue calls of %s, claims of up to %s", render.Plural(w.EnqueueBatch(), "task"), render.Plural(w.ClaimBatch(), "task"))
}

func driverInWords(w scenario.Workload) string {
	if w.Driver == scenario.DriverK6 {
		return fmt.Sprintf("from k6 with the script %s (SHA-256 %.12s)", w.Script.Path, w.Script.SHA256)
	}
	return fmt.Sprintf("over %s of driver %s", render.Plural(w.Connections, "connection"), w.Driver)
}

func faultInWords(f scenario.Fault) string {
	words := fmt.Sprintf("%s of %s at %s for %s", f.Kind, f.Target, hclfile.FormatDuration(f.At), hclfile.FormatDuration(f.For))
	if f.Times > 1 {
		words += fmt.Sprintf(", %d times, every %s", f.Times, hclfile.FormatDuration(f.Every))
	}
	return words
}

func roundsInWords(s *scenario.Scenario) string {
	r := s.PlannedRounds()
	words := []string{fmt.Sprintf("%d timed", r.Timed)}
	if r.Profiled > 0 {
		var kinds []string
		for _, c := range s.Captures {
			kinds = append(kinds, c.Kind)
		}
		words = append(words, fmt.Sprintf("%d profiled (%s)", r.Profiled, strings.Join(kinds, ", ")))
	}
	if r.Calibrating > 0 {
		words = append(words, fmt.Sprintf("%d before them to find the peak", r.Calibrating))
	}
	return strings.Join(words, ", ")
}

// offered returns the number of tasks that a point sends in a window, if known.
func offered(p explainedPoint) string {
	if p.TasksPerWindow == 0 {
		return ""
	}
	return fmt.Sprintf(": %s tasks in a window", render.Count(int(p.TasksPerWindow)))
}

func windowText(p scenario.Phases) string {
	if p.Tasks > 0 {
		return fmt.Sprintf("%s tasks and %s at most", render.Count(p.Tasks), hclfile.FormatDuration(p.Window))
	}
	return hclfile.FormatDuration(p.Window)
}

func warmupText(p scenario.Phases) string {
	least := hclfile.FormatDuration(p.Warmup)
	if longest := p.LongestWarmup(); longest > p.Warmup {
		return least + " to " + hclfile.FormatDuration(longest)
	}
	return least
}

// observedText lists what is recorded in the windows of the timed rounds.
func observedText(s *scenario.Scenario) string {
	if len(s.Points) > 0 { // the lines of the points have the details
		return "the timed windows, as each point says"
	}
	var all []string
	if every := s.Observe.Scrape; every > 0 {
		all = append(all, fmt.Sprintf("the metrics of each server are read every %s", hclfile.FormatDuration(every)))
	}
	if s.Observe.Profiles {
		all = append(all, "the servers are profiled")
	}
	if len(all) == 0 {
		return "nothing"
	}
	return "in the timed windows " + strings.Join(all, ", and ")
}

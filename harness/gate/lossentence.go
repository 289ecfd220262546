package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// lossVerbs contains the words before and after the ratio in a sentence about a build's metric.
var lossVerbs = map[string][2]string{
	result.CyclesPerS:                {"completes", "of the cycles of"},
	result.DrainCyclesPerS:           {"drains", "of the tasks per second of"},
	result.ServerCPUUsPerCycle:       {"takes", "times the server CPU time per cycle of"},
	result.ClientCPUUsPerCycle:       {"takes", "times the client CPU time per cycle of"},
	result.CycleLatencyMs + "_p50":   {"has", "times the median latency under open load of"},
	result.CycleLatencyMs + "_p99":   {"has", "times the p99 latency under open load of"},
	result.ServerRSSMBMax:            {"uses", "times the memory of"},
	result.ServerGoroutinesMax:       {"has", "times the goroutines of"},
	result.StorageFsyncsPerCycle:     {"makes", "times the fsyncs per cycle of"},
	result.ServerAllocBytesPerCycle:  {"allocates", "times the bytes per cycle of"},
	result.EnqueueLatencyMs + "_p50": {"has", "times the median latency of an enqueue of"},
}

// LossSentence describes in one sentence which ratios to the baseline build broke their limits. If
// the comparison of both builds shows it, the sentence also names the place of most of the loss. It
// returns "" if no such limit is broken. compared may be nil.
func LossSentence(r Report, compared *result.Comparison) string {
	var broken []Finding
	for _, f := range r.Findings {
		if f.Judged && !f.OK && f.OfBaseline != nil && !f.ofWork {
			broken = append(broken, f)
		}
	}
	if len(broken) == 0 {
		return ""
	}
	of := func(f Finding) string {
		verb, known := lossVerbs[f.Metric]
		if !known {
			verb = [2]string{"has", "times the " + f.Metric + " of"}
		}
		return fmt.Sprintf("%s %s %s", verb[0], shownRatio(f.OfBaseline), verb[1])
	}
	text := fmt.Sprintf("%s: this build %s baseline %.7s", r.Scenario, of(broken[0]), broken[0].OfBaseline.Commit)
	for _, f := range broken[1:] {
		text += ", and " + of(f) + " it"
	}
	if where := lossIn(compared); where != "" {
		text += "; " + where
	}
	return text
}

// lossIn names the function with the largest part of the increase of the servers' CPU time per
// cycle, or else the first cause.
func lossIn(c *result.Comparison) string {
	if c == nil {
		return ""
	}
	lost := 0.0
	for _, d := range c.Metrics {
		if d.Metric == result.ServerCPUUsPerCycle {
			lost = d.Change.Median - d.Base.Median
		}
	}
	for _, cause := range c.Causes {
		for _, d := range c.Profiles {
			if more := (d.Change - d.Base) / 1e3; cause.Kind == causeCPU && d.Function == cause.Name && d.Node != result.GeneratorNode && d.Kind == "cpu" && lost > 0 {
				return fmt.Sprintf("most of the loss is in %s (+%s of %s µs)", render.Function(d.Function), render.Digits(more, 2), render.Digits(lost, 2))
			}
		}
	}
	if len(c.Causes) > 0 {
		return c.Causes[0].Sentence
	}
	return ""
}

package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

const (
	// costPartMin is the least part of the time, or of the servers' CPU time, that is worth a sentence.
	costPartMin = 0.05
	costsMax    = 12
	// costSamplesMin is how many samples a function needs to be named: fewer than a cause needs.
	costSamplesMin = 4
	// idleNsMin is the waiting for a lock for each cycle that is worth a sentence.
	idleNsMin = 100
)

// Costs says where the time of a run goes, the largest part first: stages, functions that compute, allocations, fsyncs, locks. Unlike
// Causes it names no defects: time must go somewhere. The scores are microseconds per cycle. They overlap: a stage's time includes
// that of its functions. A run with a sweep has no costs.
func Costs(r *result.Result) []result.Cause {
	e, ok := gather(r)
	if !ok {
		return nil
	}
	var out []result.Cause
	add := func(kind, name string, score float64, format string, args ...any) {
		out = append(out, result.Cause{Kind: kind, Name: name, Score: score, Sentence: fmt.Sprintf(format, args...)})
	}
	for _, name := range slices.Sorted(maps.Keys(e.stages)) {
		if s := e.stages[name]; s.us >= costPartMin*e.us && name != result.StageInbox && name != result.StageCommitWait {
			add("stage", name, s.us, "stage %s takes %s a batch, half of them up to %s: %s a cycle", name, microseconds(s.meanUs), microseconds(s.p50Us), microseconds(s.us))
		}
	}
	for f, c := range e.functions.of {
		if c.value < costPartMin*e.functions.total || c.samples < costSamplesMin || f == result.ChargeScheduling {
			continue
		}
		kind := causeCPU
		if f == result.ChargeGC {
			kind = causeAllocation
		}
		add(kind, f, c.value, "%s takes %s of CPU a cycle, %s of the server's", named(f, c.callers), microseconds(c.value), render.PercentTo(c.value/e.functions.total, 0))
	}
	if e.fsyncUs >= costPartMin*e.us && e.fsyncs > 0 {
		add(causeFsync, "prony_storage_fsyncs_total", e.fsyncUs, "fsyncs take %s a cycle, %s each: those of commits, and those in the background", microseconds(e.fsyncUs), microseconds(e.fsyncUs/e.fsyncs))
	}
	for _, name := range slices.Sorted(maps.Keys(e.locks)) {
		l := e.locks[name]
		if l.WaitNsPerCycle < idleNsMin || l.Kind == "runtime" {
			continue
		}
		kind := causeLock
		if l.Kind == "channel" || l.Kind == "select" {
			kind = causeChannel
		}
		d := diagnosis{c: e}
		add(kind, name, l.WaitNsPerCycle/1e3, "%s", lockSentence(&d, l, 0, kind == causeChannel))
	}
	slices.SortFunc(out, func(x, y result.Cause) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.Sentence, y.Sentence))
	})
	return out[:min(len(out), costsMax)]
}

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
	costsMax = 12
	// costSamplesMin is the least number of samples of a reported function.
	costSamplesMin = 4
)

// Costs reports where the time of a run is spent, largest part first: stages, functions that
// compute, fsyncs, locks. Unlike the causes of Explain, its entries are not defects, because every
// run spends its time somewhere. Scores are in microseconds per cycle, each at least 5 % of the
// time per cycle. Scores overlap, because the time of a stage includes the time of its functions. A
// run with a sweep has no costs.
func Costs(r *result.Result) []result.Cause {
	e, ok := gather(r)
	if !ok {
		return nil
	}
	var out []result.Cause
	add := func(kind, name string, us float64, format string, args ...any) {
		if us >= causePartMin*e.us {
			out = append(out, result.Cause{Kind: kind, Name: name, Score: us, Sentence: fmt.Sprintf(format, args...)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.stages)) {
		if s := e.stages[name]; name != result.StageInbox && name != result.StageCommitWait && name != result.StageReady {
			add(causeStage, name, s.us, "stage %s takes %s a %s (median %s): %s a cycle", name, microseconds(s.meanUs), passes(name), microseconds(s.p50Us), microseconds(s.us))
		}
	}
	if e.fsyncs > 0 {
		add(causeFsync, "prony_storage_fsyncs_total", e.fsyncUs, "fsyncs take %s a cycle, %s each, for commits and in the background", microseconds(e.fsyncUs), microseconds(e.fsyncUs/e.fsyncs))
	}
	for i, side := range e.sides {
		whose, in := "the server's", ""
		if i == 1 {
			whose, in = "the load generator's", "in the load generator, "
		}
		for f, c := range side.functions.of {
			if c.samples < costSamplesMin || f == result.ChargeScheduling {
				continue
			}
			kind := causeCPU
			if f == result.ChargeGC {
				kind = causeAllocation
			}
			add(kind, f, c.value, "%s takes %s of CPU a cycle, %s of %s", named(f, c.callers), microseconds(c.value), render.PercentTo(c.value/side.functions.total, 0), whose)
		}
		for _, name := range slices.Sorted(maps.Keys(side.locks)) {
			if l := side.locks[name]; l.Kind != "runtime" { // only its name is known
				add(causeLock, name, l.WaitNsPerCycle/1e3, "%sgoroutines wait %s a cycle for %s%s", in, render.Nanoseconds(l.WaitNsPerCycle), name, sitesOf(l))
			}
		}
	}
	slices.SortFunc(out, func(x, y result.Cause) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.Sentence, y.Sentence))
	})
	return out[:min(len(out), costsMax)]
}

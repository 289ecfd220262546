package duet

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// readings contains the metrics of both sides' servers at one moment. The slice of a side that
// could not be read is nil.
type readings [2][]observe.Metrics

// readCounters reads the metrics of both sides' servers over HTTP. It must be called while nothing
// is measured and no task is in flight. The metrics only help to explain a loss and do not affect
// the verdict, so an error causes only a warning.
func (c *conductor) readCounters(ctx context.Context, g *result.Generation, parties [2]party) (r readings) {
	for _, i := range inOrder(g.First) {
		var err error
		if r[i], err = parties[i].counters(ctx); err != nil && ctx.Err() == nil {
			c.warn(fmt.Sprintf("generation %d: %s: the times of its stages are unknown: %v", g.Number, c.sides[i].Name, err))
		}
	}
	return r
}

func (c *conductor) countersBetween(g *result.Generation, before, after readings) {
	for i := range g.Sides {
		s := &g.Sides[i]
		if len(before[i]) == 0 || len(after[i]) == 0 || s.Cycles == 0 {
			continue
		}
		var problems []string
		s.Stages, problems = observe.Stages(before[i], after[i])
		for _, problem := range problems {
			c.warn(fmt.Sprintf("generation %d: %s: %s", g.Number, c.sides[i].Name, problem))
		}
		s.PerCycle = map[string]float64{}
		if fsyncs, counted := observe.Rose(before[i], after[i], fsyncsMetric); counted {
			ofLogs, _ := observe.Rose(before[i], after[i], raftFsyncsMetric)
			s.PerCycle[result.StorageFsyncsPerCycle] = (fsyncs + ofLogs) / float64(s.Cycles)
		}
		allocations(s, before[i], after[i])
		if seconds, counted := observe.Rose(before[i], after[i], observe.FsyncSeconds); counted {
			s.PerCycle[result.StorageFsyncUsPerCycle] = 1e6 * seconds / float64(s.Cycles)
		}
	}
}

// allocations adds the allocations of the servers' runtimes between two readings, per cycle, and
// the number of goroutines. It adds nothing if one of the servers does not report them.
func allocations(s *result.GenerationSide, before, after []observe.Metrics) {
	var objects, size uint64
	goroutines := 0
	for i := range after {
		earlier, err := observe.RuntimeOf(before[i])
		if err != nil {
			return
		}
		now, err := observe.RuntimeOf(after[i])
		if err != nil {
			return
		}
		rose, err := now.Since(earlier)
		if err != nil {
			return
		}
		objects, size, goroutines = objects+rose.AllocatedObjects, size+rose.AllocatedBytes, goroutines+rose.Goroutines
	}
	s.Goroutines = goroutines
	s.PerCycle[result.ServerAllocsPerCycle] = float64(objects) / float64(s.Cycles)
	s.PerCycle[result.ServerAllocBytesPerCycle] = float64(size) / float64(s.Cycles)
}

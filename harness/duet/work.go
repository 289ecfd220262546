package duet

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

const (
	// workSeed is constant, so that the counters of different comparisons belong to the same work.
	workSeed = 15
	// workCycles is the number of cycles of the fixed work. They take a few seconds on two cores
	// while both sides are running. With fewer cycles the number of allocations varies more.
	workCycles = 60_000
	// workRaftCycles is the number of cycles for a cluster. It is lower than workCycles, because
	// each commit waits for several nodes.
	workRaftCycles = 15_000
	// workWarmUp is the number of cycles before the first reading of the counters. With a warm-up,
	// one-time allocations do not count.
	workWarmUp = 3_000
	// workTries bounds how often the fixed work is measured. It is measured again if a side failed
	// or a counter differs. A flush during the work makes a server store a few more records: 3 or
	// 21 of 16,363 sets were observed. Let p be the probability of this per measurement of a side.
	// With probability 2 p^4 (1-p)^4 it happens in all four measurements of one side and in none of
	// the other. That is 1 in 2,000 at p = 1/7, which was observed on a busy host with two cores.
	workTries = 4
)

// fixedWork makes both sides do the same fixed work at the same time, on separate servers. It
// returns the servers' counters. If counters differ, it repeats the work. For each counter it then
// stores the two values, one per side, that differ least. The reason is that the change does not
// cause an occasional event such as a flush at another moment. If the work failed, the result has
// no cycles and a warning with the reason.
func (c *conductor) fixedWork(ctx context.Context) *result.FixedWork {
	cycles := c.options.WorkCycles
	switch {
	case cycles > 0:
	case c.scenario.Topology.Kind == "raft":
		cycles = workRaftCycles
	default:
		cycles = workCycles
	}
	kept := closest(func(try int) (*result.FixedWork, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var sides [2]workCounts
		if err := atOnce(func(side int) (err error) {
			sides[side], err = c.workSide(ctx, side, try, cycles)
			return err
		}); err != nil {
			c.line("fixed work: %v", err)
			return nil, err
		}
		return joinWork(sides), nil
	})
	kept.Seed = workSeed
	kept.Expected = c.options.Expected
	switch {
	case kept.Cycles > 0:
		c.line("fixed work: %s, %s", render.Plural(int(kept.Cycles), "cycle"), differences(kept))
	case ctx.Err() == nil:
		c.line("no counters from fixed work: %s", strings.Join(kept.Warnings, "; "))
	}
	return kept
}

// closest calls measure until no counter differs, but at most workTries times. It returns the last
// measurement. In that measurement each counter has the two values that differ least over all
// tries. closest adds a warning if a measurement failed.
func closest(measure func(try int) (*result.FixedWork, error)) *result.FixedWork {
	var kept *result.FixedWork
	var failed error
	seen := map[string][2][]float64{} // all values of each counter, by side
	for try := 1; try <= workTries; try++ {
		w, err := measure(try)
		switch {
		case err != nil:
			failed = err
			continue
		case w.Cycles == 0 && kept != nil: // the sides did different amounts of work
			continue
		case w.Cycles > 0:
			for name, values := range w.Counters {
				of := seen[name]
				of[Base], of[Change] = append(of[Base], values[Base]), append(of[Change], values[Change])
				seen[name], w.Counters[name] = of, nearest(of)
			}
		}
		if kept = w; kept.Cycles > 0 && len(differing(kept)) == 0 {
			return kept
		}
	}
	switch {
	case kept == nil:
		kept = &result.FixedWork{Counters: map[string][2]float64{}, Warnings: []string{fmt.Sprintf("the fixed work failed: %v", failed)}}
	case failed != nil:
		kept.Warnings = append(kept.Warnings, fmt.Sprintf("the fixed work was measured fewer times than requested, because a measurement failed: %v", failed))
	}
	return kept
}

// nearest returns one value of each side, such that the two values differ least.
func nearest(of [2][]float64) (pair [2]float64) {
	least := math.Inf(1)
	for _, base := range of[Base] {
		for _, change := range of[Change] {
			if apart := math.Abs(change - base); apart < least {
				least, pair = apart, [2]float64{base, change}
			}
		}
	}
	return pair
}

// joinWork combines the counts of base and change. If a side does not have a counter, joinWork
// leaves the counter out and adds a warning.
func joinWork(sides [2]workCounts) *result.FixedWork {
	w := &result.FixedWork{Cycles: sides[Base].cycles, Counters: map[string][2]float64{}, Shown: map[string][2]float64{}}
	w.Warnings = append(w.Warnings, sides[Base].warnings...)
	for _, text := range sides[Change].warnings {
		if !slices.Contains(w.Warnings, text) {
			w.Warnings = append(w.Warnings, text)
		}
	}
	both := func(of func(workCounts) map[string]float64, into map[string][2]float64, name string) {
		base, inBase := of(sides[Base])[name]
		change, inChange := of(sides[Change])[name]
		switch {
		case inBase && inChange:
			into[name] = [2]float64{base, change}
		case inBase:
			w.Warnings = append(w.Warnings, "fixed work: the change does not count "+name)
		case inChange:
			w.Warnings = append(w.Warnings, "fixed work: the base does not count "+name)
		}
	}
	for _, counter := range result.WorkCounters() {
		both(func(s workCounts) map[string]float64 { return s.counters }, w.Counters, counter.Name)
	}
	for name := range sides[Base].shown {
		both(func(s workCounts) map[string]float64 { return s.shown }, w.Shown, name)
	}
	if sides[Base].cycles != sides[Change].cycles {
		w.Cycles = 0 // counters for different amounts of work are not comparable
		w.Warnings = append(w.Warnings, fmt.Sprintf("the fixed work failed: the sides did %d and %d cycles", sides[Base].cycles, sides[Change].cycles))
	}
	return w
}

// differing returns the names of the counters that differ by more than two runs of the same build
// would.
func differing(w *result.FixedWork) (names []string) {
	for _, counter := range result.WorkCounters() {
		if values, counted := w.Counters[counter.Name]; counted && counter.Differs(values) {
			names = append(names, counter.Name)
		}
	}
	return names
}

func differences(w *result.FixedWork) string {
	names := differing(w)
	if len(names) == 0 {
		return fmt.Sprintf("none of %d counters differs", len(w.Counters))
	}
	return fmt.Sprintf("%d of %d counters differ: %s", len(names), len(w.Counters), strings.Join(names, ", "))
}

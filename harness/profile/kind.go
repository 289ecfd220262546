package profile

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// kind says how one kind of profile is taken and read.
type kind struct {
	name string
	// runtime is what the runtime calls the profile that a snapshot is of; empty for the CPU profile.
	runtime string
	// collect makes the process collect its garbage before a snapshot.
	collect bool
	// cumulative profiles are taken at both ends of the window and subtracted.
	cumulative bool
	// keep lists the sample types that a difference has a meaning for; all when empty.
	keep []string
	// value is the sample type that is summarised.
	value string
	// caller charges a sample's flat value to the innermost frame outside the runtime, see attribute.
	caller bool
}

var kinds = []kind{
	{name: "cpu", value: "cpu"},
	{name: "mutex", runtime: "mutex", cumulative: true, value: "delay", caller: true},
	{name: "block", runtime: "block", cumulative: true, value: "delay", caller: true},
	// The runtime publishes allocations only up to the last garbage collection, so the collection makes the snapshot exact. A server
	// offers it for the heap profile only. Memory in use is a level, of which a difference would say nothing.
	{name: "allocs", runtime: "heap", collect: true, cumulative: true, keep: []string{"alloc_objects", "alloc_space"}, value: "alloc_space"},
	{name: "goroutine", runtime: "goroutine", value: "goroutine", caller: true},
}

// capture is a checked scenario.Capture.
type capture struct {
	kind
	mutexFraction int
	blockRate     time.Duration
}

// check returns the captures in the order in which they are taken, or what is wrong with them.
func check(wanted []scenario.Capture) ([]capture, error) {
	byName := make(map[string]scenario.Capture, len(wanted))
	for _, w := range wanted {
		if w.Kind == "trace" {
			continue // it is no profile: see Recorder
		}
		if _, twice := byName[w.Kind]; twice {
			return nil, fmt.Errorf("capture %q is given twice; give it once", w.Kind)
		}
		byName[w.Kind] = w
	}
	var captures []capture
	for _, k := range kinds {
		w, ok := byName[k.name]
		if !ok {
			continue
		}
		delete(byName, k.name)
		c := capture{kind: k}
		switch {
		case k.name == "mutex" && w.MutexFraction <= 0:
			return nil, fmt.Errorf("capture %q: mutex fraction %d; it must be at least 1, which records each event", w.Kind, w.MutexFraction)
		case k.name == "mutex":
			c.mutexFraction = w.MutexFraction
		case k.name == "block" && w.BlockRate <= 0:
			return nil, fmt.Errorf("capture %q: block rate %s; it must be at least 1ns, which records each event", w.Kind, w.BlockRate)
		case k.name == "block":
			c.blockRate = w.BlockRate
		}
		captures = append(captures, c)
	}
	for name := range byName {
		return nil, fmt.Errorf("capture %q is unknown; use cpu, mutex, block, allocs or goroutine", name)
	}
	return captures, nil
}

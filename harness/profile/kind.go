package profile

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// kind describes how to take and read one kind of profile.
type kind struct {
	name string
	// runtime is the runtime's name of a snapshot profile; "" for the CPU profile.
	runtime string
	// collect makes the process run a garbage collection before a snapshot.
	collect bool
	// cumulative profiles need a snapshot at both ends of the window; the result is their
	// difference.
	cumulative bool
	// keep lists the sample types whose difference is meaningful; empty means all.
	keep []string
	// value is the summarised sample type.
	value string
	// caller charges a sample's flat value to the innermost frame outside the runtime; see
	// attribute.
	caller bool
}

var kinds = []kind{
	{name: "cpu", value: "cpu"},
	{name: "mutex", runtime: "mutex", cumulative: true, value: "delay", caller: true},
	{name: "block", runtime: "block", cumulative: true, value: "delay", caller: true},
	// The runtime publishes allocations only up to the last garbage collection, so the collection
	// makes the snapshot exact. Servers only support it for the heap profile. Memory in use is
	// dropped, because a difference of levels is meaningless.
	{name: "allocs", runtime: "heap", collect: true, cumulative: true, keep: []string{"alloc_objects", "alloc_space"}, value: "alloc_space"},
	{name: "goroutine", runtime: "goroutine", value: "goroutine", caller: true},
}

// capture is a validated scenario.Capture.
type capture struct {
	kind
	mutexFraction int
	blockRate     time.Duration
}

// check validates the captures and returns them in capture order.
func check(wanted []scenario.Capture) ([]capture, error) {
	byName := make(map[string]scenario.Capture, len(wanted))
	for _, w := range wanted {
		if w.Kind == "trace" {
			continue // a trace is not a profile: see Recorder
		}
		if _, twice := byName[w.Kind]; twice {
			return nil, fmt.Errorf("duplicate capture %q; remove one of the two", w.Kind)
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
			return nil, fmt.Errorf("capture %q: mutex fraction %d, expected at least 1, which records each event", w.Kind, w.MutexFraction)
		case k.name == "mutex":
			c.mutexFraction = w.MutexFraction
		case k.name == "block" && w.BlockRate <= 0:
			return nil, fmt.Errorf("capture %q: block rate %s, expected at least 1ns, which records each event", w.Kind, w.BlockRate)
		case k.name == "block":
			c.blockRate = w.BlockRate
		}
		captures = append(captures, c)
	}
	for name := range byName {
		return nil, fmt.Errorf("unknown capture %q; use cpu, mutex, block, allocs or goroutine", name)
	}
	return captures, nil
}

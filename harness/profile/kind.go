package profile

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario"
)

// kind describes how to take and read one kind of profile.
type kind struct {
	name string
	// runtime is the name that the Go runtime uses for a snapshot profile. It is "" for the CPU
	// profile.
	runtime string
	// collect makes the process run a garbage collection before a snapshot.
	collect bool
	// cumulative is set if the profile contains all values since the start of the process. It then
	// needs a snapshot at the start and at the end of the window, and the result is the difference.
	cumulative bool
	// keep contains the sample types whose difference is meaningful. If it is empty, all are.
	keep []string
	// value is the sample type that is summarised.
	value string
	// caller attributes a sample's flat value to the innermost frame outside the runtime; see
	// attribute.
	caller bool
}

var kinds = []kind{
	{name: "cpu", value: "cpu"},
	{name: "mutex", runtime: "mutex", cumulative: true, value: "delay", caller: true},
	{name: "block", runtime: "block", cumulative: true, value: "delay", caller: true},
	// The runtime publishes allocations only up to the last garbage collection, so a collection
	// before the snapshot makes the snapshot exact. Servers support such a collection only for the
	// heap profile. The sample types for memory in use are dropped, because the difference of two
	// levels is meaningless.
	{name: "allocs", runtime: "heap", collect: true, cumulative: true, keep: []string{"alloc_objects", "alloc_space"}, value: "alloc_space"},
	{name: "goroutine", runtime: "goroutine", value: "goroutine", caller: true},
}

// capture is a scenario.Capture that has been validated.
type capture struct {
	kind
	mutexFraction int
	blockRate     time.Duration
}

func check(wanted []scenario.Capture) ([]capture, error) {
	byName := make(map[string]scenario.Capture, len(wanted))
	for _, w := range wanted {
		if w.Kind == "trace" {
			continue // a trace is not a profile; see Recorder
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

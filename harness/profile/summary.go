package profile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/result"
)

// topEntries is how many functions a summary names.
const topEntries = 15

// summarise returns the total of p's value of the kind and the functions with the largest shares,
// by flat and, among equals, by cumulative value.
//
// Flat of a function is what is charged to it alone, see attribute; Cum is what is charged to all
// stacks that it appears in, each counted once however often it recurs.
func summarise(p *profile.Profile, k kind) (result.Profile, error) {
	index, err := valueIndex(p, k.value)
	if err != nil {
		return result.Profile{}, err
	}
	summary := result.Profile{Kind: k.name, Unit: p.SampleType[index].Unit, Top: []result.ProfileEntry{}}
	entries := make(map[string]*result.ProfileEntry)
	entry := func(function string) *result.ProfileEntry {
		e := entries[function]
		if e == nil {
			e = &result.ProfileEntry{Function: function}
			entries[function] = e
		}
		return e
	}
	for _, s := range p.Sample {
		value := float64(s.Value[index])
		summary.Total += value
		stack := frames(s)
		if len(stack) == 0 {
			continue
		}
		entry(attribute(stack, k.caller)).Flat += value
		for i, function := range stack {
			if !slices.Contains(stack[:i], function) {
				entry(function).Cum += value
			}
		}
	}
	for _, e := range entries {
		if summary.Total > 0 {
			e.Share = e.Flat / summary.Total
		}
		summary.Top = append(summary.Top, *e)
	}
	slices.SortFunc(summary.Top, func(a, b result.ProfileEntry) int {
		return cmp.Or(cmp.Compare(b.Flat, a.Flat), cmp.Compare(b.Cum, a.Cum), cmp.Compare(a.Function, b.Function))
	})
	summary.Top = summary.Top[:min(len(summary.Top), topEntries)]
	if k.name == "cpu" || k.name == "allocs" {
		summary.Charges = charges(p, index)
	}
	return summary, nil
}

// attribute returns the function that a stack, innermost frame first, is charged to. That is the
// innermost one; or, with caller, the innermost one outside Go's runtime, sync and internal
// packages: that a goroutine waited in runtime.selectgo or handed over in sync.(*Mutex).Unlock is
// true of all of them, and which function of the program did so is what is asked. A stack that has
// no other frame, such as one of a lock inside the runtime, is charged to its innermost one.
func attribute(stack []string, caller bool) string {
	if caller {
		for _, function := range stack {
			if !waits(packageOf(function)) {
				return function
			}
		}
	}
	return stack[0]
}

// waits tells whether a package of the standard library is one that goroutines wait in on behalf of
// their callers.
func waits(path string) bool {
	return path == "runtime" || strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "runtime/internal/") ||
		path == "sync" || strings.HasPrefix(path, "sync/")
}

// packageOf returns the import path in a function's full name: "a/b" of "a/b.(*T[c/d.E]).M.func1".
func packageOf(function string) string {
	if bracket := strings.IndexByte(function, '['); bracket >= 0 {
		function = function[:bracket] // type arguments may hold paths of their own
	}
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		return function[:slash+dot]
	}
	return function
}

// frames returns the names of a sample's functions, innermost first, inlined ones included.
func frames(s *profile.Sample) []string {
	var stack []string
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function != nil {
				stack = append(stack, line.Function.Name)
			}
		}
	}
	return stack
}

package profile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/result"
)

// topEntries bounds the number of functions in a summary.
const topEntries = 15

// summarise returns the total of p's values, and the functions with the largest values. These are
// sorted by flat value and then by cumulative value.
//
// Flat is the value attributed to the function alone; see attribute. Cum is the total value of all
// stacks that contain the function. A stack counts once even if the function recurs in it.
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

// attribute returns the function that a stack's value is attributed to. The innermost frame of the
// stack is the first. If caller is false, it is the innermost function. If caller is true, it is
// the innermost function outside Go's runtime, sync and internal packages. Every goroutine that
// waits is in a function such as runtime.selectgo or sync.(*Mutex).Unlock, so its caller is more
// informative. If all functions are in these packages, for example for a lock inside the runtime,
// it is the innermost function.
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

// waits reports whether a package of the standard library waits on behalf of its callers.
func waits(path string) bool {
	return path == "runtime" || strings.HasPrefix(path, "internal/") || strings.HasPrefix(path, "runtime/internal/") ||
		path == "sync" || strings.HasPrefix(path, "sync/")
}

// packageOf returns the import path in a function's full name. For "a/b.(*T[c/d.E]).M.func1" it
// returns "a/b".
func packageOf(function string) string {
	if bracket := strings.IndexByte(function, '['); bracket >= 0 {
		function = function[:bracket] // type arguments may contain paths
	}
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		return function[:slash+dot]
	}
	return function
}

// frames returns the names of a sample's functions, including inlined ones. The innermost function
// is the first.
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

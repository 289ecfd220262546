package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// module is the prefix of the names of functions of this project.
const module = "github.com/pronybench/prony/"

// shareMin is the share of a profile below which a function is not reported.
const shareMin = 0.01

type namedProfile struct {
	of string
	result.Profile
}

type namedLock struct {
	of string
	result.Lock
}

const locksNamed = 2

// where reports the most contended locks. For each CPU profile it also reports the function with
// the largest charge outside the runtime and, if it is another one, the function of this project
// with the largest charge.
func where(profiles []namedProfile, locks []namedLock) []string {
	lines := whereLocks(locks)
	for _, p := range profiles {
		if p.Kind != "cpu" || p.Total <= 0 {
			continue
		}
		of := p.of
		if p.Node != "" {
			of += p.Node + ": "
		}
		for _, e := range pick(p.Top) {
			lines = append(lines, fmt.Sprintf("%scpu: %s of %s spent in %s",
				of, render.PercentTo(e.Share, 0), render.Amount(p.Total, p.Unit), strings.ReplaceAll(e.Function, module, "")))
		}
	}
	return lines
}

// whereLocks reports the first locks of each node. locks must be sorted by wait time.
func whereLocks(locks []namedLock) []string {
	var lines []string
	type node struct {
		point int
		id    string
	}
	named := map[node]int{}
	for _, l := range locks {
		at := node{l.Point, l.Node}
		if named[at]++; named[at] > locksNamed {
			continue
		}
		of := l.of
		if l.Node != "" {
			of += l.Node + ": "
		}
		lines = append(lines, of+"locks: "+profile.Sentence(l.Lock))
	}
	return lines
}

// pick returns at most two entries, by flat value: the largest outside the runtime (or the largest
// of all if none is outside) and, if it is another one, the largest of this project.
func pick(top []result.ProfileEntry) []result.ProfileEntry {
	sorted := slices.DeleteFunc(slices.Clone(top), func(e result.ProfileEntry) bool { return e.Share < shareMin })
	slices.SortStableFunc(sorted, func(a, b result.ProfileEntry) int {
		switch {
		case a.Flat > b.Flat:
			return -1
		case a.Flat < b.Flat:
			return 1
		}
		return 0
	})
	if len(sorted) == 0 {
		return nil
	}
	first := max(0, slices.IndexFunc(sorted, func(e result.ProfileEntry) bool { return !ofRuntime(e.Function) }))
	picked := []result.ProfileEntry{sorted[first]}
	own := slices.IndexFunc(sorted, func(e result.ProfileEntry) bool { return strings.HasPrefix(e.Function, module) })
	if own >= 0 && own != first {
		picked = append(picked, sorted[own])
	}
	return picked
}

// ofRuntime reports whether a function belongs to the Go runtime or to packages that every program
// uses.
func ofRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "runtime/", "internal/", "sync.", "sync/", "syscall."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/engine/symbols"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

const (
	// diffRoundsMin is the number of profiled rounds that each side of a diff needs. A single round
	// does not show how much rounds vary.
	diffRoundsMin = 2
	// diffShareMin is the smallest difference of a function that is reported, as a fraction of the
	// profile's total.
	diffShareMin = 0.005
	// diffMax bounds the number of functions that are reported for each kind of profile.
	diffMax = 15
)

// PerRound contains the profiles of one profiled round.
type PerRound struct {
	Round  int
	Cycles uint64 // cycles completed in the window
	// Profiles contains the sums of the profiles of all servers, and Generator contains the
	// profiles of the load generator. The keys are kinds of profiles.
	Profiles, Generator map[string]*profile.Profile
	// Covered and GeneratorCovered contain the number of cycles completed during each kind of
	// profile. If a number is missing, the number of cycles in the window is used.
	Covered, GeneratorCovered map[string]uint64
}

// of returns a kind of profile and its number of cycles. If generator is true, the profile is that
// of the generator, otherwise that of the servers.
func (r *PerRound) of(kind string, generator bool) (*profile.Profile, uint64) {
	profiles, covered := r.Profiles, r.Covered
	if generator {
		profiles, covered = r.Generator, r.GeneratorCovered
	}
	return profiles[kind], cmp.Or(covered[kind], r.Cycles)
}

// KindLock is the kind of a ProfileDelta that compares the wait for a lock. Its name is the one
// that Locks reports.
const KindLock = "lock"

// Diff compares two sides. For each function it compares the value per cycle that is attributed to
// the function. It does this for each kind of profile that both sides have (cpu, mutex, block and
// allocs). For each lock it compares the wait per cycle. CPU time and allocations of libraries are
// attributed to the function of this project that called them. A renamed function is one function:
// see mergeRenamed. Diff returns the differences whose 95 % interval excludes zero and that are at
// least half a percent of the profile's total. The largest differences of each kind come first. By
// chance, one in twenty functions without a real difference has an interval that excludes zero.
//
// If a side has fewer than two rounds, or a round without cycles, the error is ErrTooFewRounds.
func Diff(base, change []PerRound) ([]result.ProfileDelta, error) {
	for _, side := range [][]PerRound{base, change} {
		counted := 0
		for _, r := range side {
			if r.Cycles > 0 {
				counted++
			}
		}
		if counted < diffRoundsMin || counted != len(side) {
			return nil, fmt.Errorf("%w: expected at least %d with cycles on each side, and all of them, got %d of %d; set profiled_rounds = 3, for example",
				ErrTooFewRounds, diffRoundsMin, counted, len(side))
		}
	}
	var all []result.ProfileDelta
	for _, generator := range []bool{false, true} {
		for _, k := range kinds {
			if k.name == "goroutine" {
				continue // not cumulative, so it cannot be divided by cycles
			}
			of, err := diffKind(base, change, k, generator)
			if err != nil {
				return nil, fmt.Errorf("compare %s profiles: %w", k.name, err)
			}
			all = append(all, of...)
		}
		of, err := diffLocks(base, change, generator)
		if err != nil {
			return nil, fmt.Errorf("compare locks: %w", err)
		}
		all = append(all, of...)
	}
	return all, nil
}

// charged contains the values attributed to one function in one round, per cycle.
type charged struct {
	flat stat.Counted
	cum  float64
}

// sides contains the attributed values for each round of base and change. The keys of the maps are
// functions or locks.
type sides [2][]map[string]charged

func diffKind(base, change []PerRound, k kind, generator bool) ([]result.ProfileDelta, error) {
	of, unit, err := chargedSides(base, change, k, generator)
	if err != nil || of == nil {
		return nil, err
	}
	return deltasOf(k.name, unit, generator, *of)
}

// chargedSides returns the values that a kind of profile attributes to functions, and their unit.
// It returns nil if a round does not have this kind.
func chargedSides(base, change []PerRound, k kind, generator bool) (*sides, string, error) {
	unit := ""
	var all sides
	for i, side := range [][]PerRound{base, change} {
		for _, r := range side {
			p, cycles := r.of(k.name, generator)
			if p == nil {
				return nil, "", nil
			}
			of, u, err := chargedOf(p, k, cycles)
			if err != nil {
				return nil, "", err
			}
			unit = u
			all[i] = append(all[i], of)
		}
	}
	mergeRenamed(&all)
	return &all, unit, nil
}

func diffLocks(base, change []PerRound, generator bool) ([]result.ProfileDelta, error) {
	of := lockedSides(base, change, generator)
	if of == nil {
		return nil, nil
	}
	return deltasOf(KindLock, nanoseconds, generator, *of)
}

// nanoseconds is the unit of the wait for a lock.
const nanoseconds = "nanoseconds"

// lockedSides returns the wait for each lock in each round. It returns nil if a round has no block
// profile.
func lockedSides(base, change []PerRound, generator bool) *sides {
	var all sides
	for i, side := range [][]PerRound{base, change} {
		for _, r := range side {
			block, cycles := r.of("block", generator)
			mutex, _ := r.of("mutex", generator)
			if block == nil {
				return nil
			}
			of := map[string]charged{}
			for _, l := range Locks(block, mutex, cycles, EngineNames()) {
				if l.Kind != opRuntime { // for a lock of the runtime only the name is known
					of[l.Name] = charged{flat: stat.Counted{Value: l.WaitNsPerCycle, Events: float64(l.Waits)}, cum: l.WaitNsPerCycle}
				}
			}
			all[i] = append(all[i], of)
		}
	}
	return &all
}

// deltasOf returns the significant differences between the rounds of two sides.
func deltasOf(kind, unit string, generator bool, of sides) ([]result.ProfileDelta, error) {
	functions := map[string]bool{}
	var total [2]float64
	for i, side := range of {
		for _, round := range side {
			for function, c := range round {
				functions[function] = true
				total[i] += c.flat.Value / float64(len(side))
			}
		}
	}
	least := diffShareMin * max(total[0], total[1])
	var deltas []result.ProfileDelta
	for function := range functions {
		values, cums := [2][]stat.Counted{}, [2]float64{}
		for i, side := range of {
			for _, round := range side {
				values[i] = append(values[i], round[function].flat)
				cums[i] += round[function].cum / float64(len(side))
			}
		}
		d, err := stat.MeanDifference(values[0], values[1])
		if err != nil {
			return nil, err
		}
		if math.Abs(d.Change-d.Base) < least || d.Low <= 0 && d.High >= 0 {
			continue
		}
		deltas = append(deltas, result.ProfileDelta{
			Node: nodeOf(generator), Kind: kind, Function: function, Unit: unit, Base: d.Base, Change: d.Change, Low: d.Low, High: d.High,
			BaseCum: cums[0], ChangeCum: cums[1],
		})
	}
	slices.SortFunc(deltas, func(a, b result.ProfileDelta) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Change-b.Base), math.Abs(a.Change-a.Base)), cmp.Compare(a.Function, b.Function))
	})
	return deltas[:min(len(deltas), diffMax)], nil
}

func nodeOf(generator bool) string {
	if generator {
		return result.GeneratorNode
	}
	return ""
}

// chargedOf attributes the values of a profile to functions as summarise does, and returns the
// values per cycle. From a block profile it leaves out idle waits, because they would dominate the
// others.
func chargedOf(p *profile.Profile, k kind, cycles uint64) (map[string]charged, string, error) {
	index, err := valueIndex(p, k.value)
	if err != nil {
		return nil, "", err
	}
	names := EngineNames()
	of := map[string]charged{}
	for _, s := range p.Sample {
		stack := frames(s)
		if len(stack) == 0 {
			continue
		}
		if k.name == "block" {
			if w, _ := names.wait(siteOf(s)); w == symbols.ForWork {
				continue
			}
		}
		value := float64(s.Value[index]) / float64(cycles)
		function := normal(attribute(stack, k.caller))
		if k.name == "cpu" || k.name == "allocs" {
			function, _ = chargedTo(stack)
		}
		c := of[function]
		c.flat.Value += value
		c.flat.Events += events(p, s, k)
		of[function] = c
		seen := make([]string, 0, len(stack))
		for _, f := range stack {
			if f = normal(f); slices.Contains(seen, f) {
				continue
			}
			seen = append(seen, f)
			c := of[f]
			c.cum += value
			of[f] = c
		}
	}
	return of, p.SampleType[index].Unit, nil
}

// bytesSampled is the average number of allocated bytes between two sampled allocations, which is
// the default of the runtime.
const bytesSampled = 512 << 10

// events estimates the number of profiler events that a sample represents.
func events(p *profile.Profile, s *profile.Sample, k kind) float64 {
	switch k.name {
	case "cpu":
		if i, err := valueIndex(p, "samples"); err == nil {
			return float64(s.Value[i])
		}
	case "mutex", "block":
		if i, err := valueIndex(p, "contentions"); err == nil {
			return float64(s.Value[i])
		}
	case "allocs":
		if i, err := valueIndex(p, "alloc_space"); err == nil {
			return float64(s.Value[i]) / bytesSampled
		}
	}
	return 1
}

// Rounds reads the profiles of each valid profiled round of a run at a point, summed over all
// servers. point is 0 if the run has no sweep. Runs of earlier versions stored a single profiled
// round without a separate folder; Rounds reads these too.
func Rounds(runDir string, r *result.Result, point int) ([]PerRound, error) {
	var rounds []PerRound
	for i := range r.Rounds {
		round := &r.Rounds[i]
		if !round.Profiled || round.Point != point || round.Verdict == result.Incorrect || round.Verdict == result.Invalid {
			continue
		}
		of := PerRound{Round: round.Number, Cycles: round.Cycles}
		var err error
		if of.Profiles, of.Covered, err = roundProfiles(runDir, r, round, false); err != nil {
			return nil, err
		}
		if of.Generator, of.GeneratorCovered, err = roundProfiles(runDir, r, round, true); err != nil {
			return nil, err
		}
		rounds = append(rounds, of)
	}
	return rounds, nil
}

// roundProfiles returns the profiles of a round by kind: those of all servers, or those of the
// generator. It also returns how many cycles each kind of profile covers, averaged over the
// servers.
func roundProfiles(runDir string, r *result.Result, round *result.Round, generator bool) (map[string]*profile.Profile, map[string]uint64, error) {
	byKind := map[string][]*profile.Profile{}
	covered, spans := map[string]uint64{}, map[string]uint64{}
	for _, c := range round.Covered {
		if kind, is := strings.CutPrefix(c.Of, result.CoveredProfile); is && (c.Node == result.GeneratorNode) == generator {
			covered[kind] += c.Cycles
			spans[kind]++
		}
	}
	for kind, n := range spans {
		covered[kind] /= n
	}
	for _, p := range r.Profiles {
		if p.Point != round.Point || (p.Node == result.GeneratorNode) != generator {
			continue
		}
		of := Source{Round: round.Number, Point: p.Point, Node: p.Node}
		name := filepath.Join(runDir, filepath.FromSlash(of.Dir()), p.Kind+extension)
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) && p.Rounds == 0 {
			name = filepath.Join(runDir, filepath.FromSlash(p.File))
		}
		read, err := readFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("the profiles of round %d are missing: a published run has only their summaries: %w", round.Number, err)
		}
		if err != nil {
			return nil, nil, err
		}
		byKind[p.Kind] = append(byKind[p.Kind], read)
	}
	merged := make(map[string]*profile.Profile, len(byKind))
	for kind, all := range byKind {
		sum, err := add(all)
		if err != nil {
			return nil, nil, fmt.Errorf("merge %s profiles of round %d: %w", kind, round.Number, err)
		}
		merged[kind] = sum
	}
	return merged, covered, nil
}

// errNoCPUProfile reports that a process cannot record a CPU profile that other requests start and
// stop.
var errNoCPUProfile = errors.New("it is an earlier version, which cannot record a CPU profile over a requested time")

// ErrTooFewRounds reports that profiles cannot be compared, because a side has fewer than two
// profiled rounds.
var ErrTooFewRounds = errors.New("too few profiled rounds to compare profiles")

package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/result"
)

// folder is the subfolder of a run folder that contains profiles.
const folder = "profiles"

// extension is the extension of the files that contain profiles.
const extension = ".pb.gz"

// Source identifies where profiles come from.
type Source struct {
	Round int    // number of the round; 0 means the sum over all profiled rounds
	Point int    // number of the point; 0 without a sweep
	Node  string // ID of the node; "" for a single server
}

// Dir returns the folder of a source's profiles within a run folder. The path contains slashes:
// "profiles/round-08/point-1/n2".
func (s Source) Dir() string {
	round, point := "", ""
	if s.Round != 0 {
		round = fmt.Sprintf("round-%02d", s.Round)
	}
	if s.Point != 0 {
		point = "point-" + strconv.Itoa(s.Point)
	}
	return path.Join(folder, round, point, s.Node)
}

// Captured describes the stored profiles of one process from one profiled round.
type Captured struct {
	Source
	// Cycles is the number of cycles that all nodes together completed during each kind of profile.
	Cycles map[string]uint64
}

// Merge sums the profiles of each point and node over its rounds. It stores the sums in the run
// folder, next to the profiles of the rounds, and summarises them. A goroutine profile is a state
// at one moment, so for goroutines Merge uses the last round instead of a sum.
func Merge(runDir string, captured []Captured) ([]result.Profile, []result.Lock, error) {
	var profiles []result.Profile
	var locks []result.Lock
	for _, group := range grouped(captured) {
		of := Source{Point: group[0].Point, Node: group[0].Node}
		merged, cycles, err := mergeGroup(runDir, group)
		if err != nil {
			return nil, nil, fmt.Errorf("merge profiles of %d rounds: %w", len(group), err)
		}
		if err := os.MkdirAll(filepath.Join(runDir, of.Dir()), 0o755); err != nil {
			return nil, nil, fmt.Errorf("write profiles: %w", err)
		}
		for _, k := range kinds {
			p := merged[k.name]
			if p == nil {
				continue
			}
			summary, err := summarise(p, k)
			if err != nil {
				return nil, nil, fmt.Errorf("summarise %s profile: %w", k.name, err)
			}
			summary.Point, summary.Node, summary.Rounds, summary.Cycles = of.Point, of.Node, len(group), cycles[k.name]
			if k.name == "goroutine" {
				summary.Rounds, summary.Cycles = 1, group[len(group)-1].Cycles[k.name]
			}
			if k.name == "cpu" && of.Node != result.GeneratorNode {
				if summary.Areas, err = areas(p, k); err != nil {
					return nil, nil, fmt.Errorf("divide the %s profile: %w", k.name, err)
				}
			}
			summary.File = path.Join(of.Dir(), k.name+extension)
			if err := writeProfile(filepath.Join(runDir, summary.File), p); err != nil {
				return nil, nil, fmt.Errorf("write %s profile: %w", k.name, err)
			}
			profiles = append(profiles, summary)
		}
		for _, l := range Locks(merged["block"], merged["mutex"], cmp.Or(cycles["block"], cycles["mutex"]), EngineNames()) {
			l.Point, l.Node = of.Point, of.Node
			locks = append(locks, l)
		}
	}
	return profiles, locks, nil
}

func generatorLast(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == result.GeneratorNode:
		return 1
	case b == result.GeneratorNode:
		return -1
	}
	return 0
}

// grouped groups the profiles by point and node. The groups are sorted by point and node, and the
// profiles within a group by round.
func grouped(captured []Captured) [][]Captured {
	sorted := slices.Clone(captured)
	slices.SortStableFunc(sorted, func(a, b Captured) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), generatorLast(a.Node, b.Node), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Round, b.Round))
	})
	var groups [][]Captured
	for i, c := range sorted {
		if i == 0 || c.Point != sorted[i-1].Point || c.Node != sorted[i-1].Node {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], c)
	}
	return groups
}

func mergeGroup(runDir string, group []Captured) (map[string]*profile.Profile, map[string]uint64, error) {
	cycles := map[string]uint64{}
	byKind := map[string][]*profile.Profile{}
	for _, c := range group {
		of, err := readDir(filepath.Join(runDir, filepath.FromSlash(c.Dir())))
		if err != nil {
			return nil, nil, err
		}
		for name, p := range of {
			cycles[name] += c.Cycles[name]
			byKind[name] = append(byKind[name], p)
		}
	}
	merged := make(map[string]*profile.Profile, len(byKind))
	for name, all := range byKind {
		if name == "goroutine" {
			merged[name] = all[len(all)-1]
			continue
		}
		sum, err := add(all)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		merged[name] = sum
	}
	return merged, cycles, nil
}

// add sums profiles of different processes by function and line. It does not use addresses, because
// these differ between processes.
func add(all []*profile.Profile) (*profile.Profile, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	sum, err := profile.Merge(all)
	if err != nil {
		return nil, err
	}
	sum.DefaultSampleType = all[0].DefaultSampleType
	return sum, nil
}

// readDir reads the profiles in a folder. The keys of the result are the kinds that exist.
func readDir(dir string) (map[string]*profile.Profile, error) {
	found := map[string]*profile.Profile{}
	for _, k := range kinds {
		p, err := readFile(filepath.Join(dir, k.name+extension))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[k.name] = p
	}
	return found, nil
}

func readFile(name string) (*profile.Profile, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	p, err := parse(data, unpackedBytesMax)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return p, nil
}

// ReadWaits reads the stored profiles of a run and returns why a server's goroutines waited. The
// error is fs.ErrNotExist if there is no block profile.
func ReadWaits(runDir string, of Source) (Account, error) {
	dir := filepath.Join(runDir, filepath.FromSlash(of.Dir()))
	block, err := readFile(filepath.Join(dir, "block"+extension))
	if err != nil {
		return Account{}, err
	}
	mutex, err := readFile(filepath.Join(dir, "mutex"+extension))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Account{}, err
	}
	return account(block, mutex, 0, EngineNames()), nil
}

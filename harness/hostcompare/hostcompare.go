// Package hostcompare compares the measurements of the same scenarios on two hosts.
//
// Read finds the results in a folder of results, such as reports/data or runs. Compare returns a
// Comparison: the properties of the two hosts, the scenarios that could not be compared, and the
// figures of both hosts with their ratio. It includes figures only of scenarios that both hosts
// measured with the same configuration. It judges nothing, because two hosts are not two builds.
package hostcompare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// Comparison is a comparison of two hosts.
type Comparison struct {
	A         Side       `json:"a"`
	B         Side       `json:"b"`
	Manifest  []Row      `json:"manifest"`  // properties of the hosts
	Scenarios []Scenario `json:"scenarios"` // common to both, by name
	Left      []Left     `json:"left_out"`  // by name
}

// Side is one of the hosts.
type Side struct {
	Folder string `json:"folder"`
	Runs   int    `json:"runs"` // number of results
}

// Row is a property of both hosts. It contains all values that occur in the runs of a folder.
type Row struct {
	Name string   `json:"name"`
	A    []string `json:"a"`
	B    []string `json:"b"`
}

// Scenario is a scenario that both hosts measured with the same configuration, or one point of such
// a scenario if it has a sweep.
type Scenario struct {
	Name          string   `json:"scenario"`
	Point         string   `json:"point,omitempty"`
	Configuration string   `json:"configuration"`
	Durability    string   `json:"durability"`
	A             Run      `json:"a"`
	B             Run      `json:"b"`
	Metrics       []Metric `json:"metrics"`
}

// Run is the compared run of a side: the newest usable one.
type Run struct {
	ID     string `json:"run"`
	Commit string `json:"commit"`
	Rounds int    `json:"rounds"` // number of timed rounds of the point
}

// Metric is a figure of both hosts. Its intervals are the same as on its page: 95 % for at least
// six rounds, otherwise the range of the rounds.
type Metric struct {
	Name string        `json:"name"`
	Unit string        `json:"unit"`
	A    result.Metric `json:"a"`
	B    result.Metric `json:"b"`
	// OfBareA and OfBareB are the figures as ratios to the bare data path of their runs; null if a
	// run did not measure that path, or if the figure is not comparable with it.
	OfBareA *result.Metric `json:"a_of_bare,omitempty"`
	OfBareB *result.Metric `json:"b_of_bare,omitempty"`
	Ratio   *Ratio         `json:"ratio"` // null if a side has too few rounds
	Why     string         `json:"why,omitempty"`
}

// Ratio is the ratio of B's figure to A's, with its 95 % interval by a bootstrap over the rounds of
// each side.
type Ratio struct {
	Center float64 `json:"center"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Left is a scenario that could not be compared.
type Left struct {
	Name string `json:"scenario"`
	Why  string `json:"why"`
}

type stored struct {
	*result.Result
	histograms    []result.RoundHistograms
	configuration string
}

// Set contains the results of one host.
type Set struct {
	Folder string
	all    []stored
}

// depthMax is the number of levels of subfolders that are searched for results. Results are in
// subfolders: one for each page's data, or for each run.
const depthMax = 2

// Read finds the results in a folder and in the folders below it. It fails if there is no result,
// or if a result cannot be read.
func Read(folder string) (Set, error) {
	s := Set{Folder: folder}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return s, errors.Join(fmt.Errorf("%s is not a folder of results: name one such as reports/data or runs", folder), err)
	}
	pattern := filepath.Clean(folder)
	for range depthMax + 1 {
		files, err := result.Glob(filepath.Join(pattern, result.ResultFile))
		if err != nil {
			return s, err
		}
		for _, file := range files {
			if err := s.add(filepath.Dir(file)); err != nil {
				return s, err
			}
		}
		pattern = filepath.Join(pattern, "*")
	}
	if len(s.all) == 0 {
		return s, fmt.Errorf("no %s found in %s or the folders below it: create one with prony run --out %s", result.ResultFile, folder, folder)
	}
	slices.SortFunc(s.all, func(a, b stored) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run)) })
	return s, nil
}

// add reads the result of a folder. It skips a folder that is a symbolic link, unless it is
// s.Folder.
func (s *Set) add(dir string) error {
	if info, err := os.Lstat(dir); err != nil || info.Mode()&fs.ModeSymlink != 0 && dir != filepath.Clean(s.Folder) {
		return err
	}
	r, histograms, err := result.Read(dir)
	if err != nil {
		return err
	}
	s.all = append(s.all, stored{r, histograms, r.Manifest.Scenario.Configuration()})
	return nil
}

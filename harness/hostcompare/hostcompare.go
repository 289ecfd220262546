// Package hostcompare puts what two hosts measured of the same scenarios side by side.
//
// Read finds the results in a folder of results, such as reports/data or runs. Compare returns a Comparison: for each scenario that both
// have with the same configuration the figures of both and their ratio, the two hosts, and what could not be compared. It judges nothing: two
// hosts are not two builds.
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

// Comparison is two hosts side by side.
type Comparison struct {
	A         Side       `json:"a"`
	B         Side       `json:"b"`
	Manifest  []Row      `json:"manifest"`  // of the hosts, one property after the other
	Scenarios []Scenario `json:"scenarios"` // that both have, by name
	Left      []Left     `json:"left_out"`  // by name
}

// Side is one of the hosts.
type Side struct {
	Folder string `json:"folder"`
	Runs   int    `json:"runs"` // results that were found
}

// Row is a property of both hosts. Runs of one folder that had several values have all of them.
type Row struct {
	Name string   `json:"name"`
	A    []string `json:"a"`
	B    []string `json:"b"`
}

// Scenario is a scenario that both hosts measured with the same configuration, or a point of one with a sweep.
type Scenario struct {
	Name          string   `json:"scenario"`
	Point         string   `json:"point,omitempty"`
	Configuration string   `json:"configuration"`
	Durability    string   `json:"durability"`
	A             Run      `json:"a"`
	B             Run      `json:"b"`
	Metrics       []Metric `json:"metrics"`
}

// Run says which run of a side is compared: the newest that may be.
type Run struct {
	ID     string `json:"run"`
	Commit string `json:"commit"`
	Rounds int    `json:"rounds"` // timed ones of the point
}

// Metric is a figure of both hosts. Each has its interval as its own page does: of 95 % from six rounds on, and below the range of the rounds.
type Metric struct {
	Name string        `json:"name"`
	Unit string        `json:"unit"`
	A    result.Metric `json:"a"`
	B    result.Metric `json:"b"`
	// OfBareA and OfBareB are the figures as ratios to the bare data path of their runs; null if a run has none, or if the figure is not
	// compared with it.
	OfBareA *result.Metric `json:"a_of_bare,omitempty"`
	OfBareB *result.Metric `json:"b_of_bare,omitempty"`
	Ratio   *Ratio         `json:"ratio"` // null if a side has too little for one
	Why     string         `json:"why,omitempty"`
}

// Ratio is B's figure to A's, with its 95 % interval by a bootstrap over the rounds of each side.
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

// stored is a result with its histograms.
type stored struct {
	*result.Result
	histograms    []result.RoundHistograms
	configuration string
}

// Set is the results of one host.
type Set struct {
	Folder string
	all    []stored
}

// depthMax is how far below a folder results are looked for: a folder of each page's data, or of each run.
const depthMax = 2

// Read finds the results in a folder and in the folders below it. It fails if there is none, or if one can't be read.
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
		return s, fmt.Errorf("there is no %s in %s nor in the folders below it: measure something with prony run --out %s", result.ResultFile, folder, folder)
	}
	slices.SortFunc(s.all, func(a, b stored) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run)) })
	return s, nil
}

// add reads the result of a folder, unless the folder is a link to that of another.
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

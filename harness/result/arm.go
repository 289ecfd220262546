package result

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// ComparisonFile is the file of a comparison in its folder, next to one run folder for each arm.
const ComparisonFile = "comparison.json"

// Arm is one side of a comparison with all its measurements.
type Arm struct {
	Name string // "base", "change" or "control"
	Path string // of its run folder
	// Result excludes rounds of dropped blocks. The rounds of one block have the same number in all
	// arms.
	Result     *Result
	Histograms []RoundHistograms
}

// Side returns the description of the arm.
func (a Arm) Side() Side {
	s := Side{Name: a.Name, Run: a.Path}
	if a.Result == nil {
		return s
	}
	b := a.Result.Manifest.Build
	s.Commit, s.Dirty, s.Server = b.Commit, b.Dirty, b.Server
	for i := range a.Result.Rounds {
		if a.Result.Rounds[i].Timed() {
			s.Rounds++
		}
	}
	return s
}

// ReadArm reads an arm from its run folder.
func ReadArm(name, path string) (Arm, error) {
	r, histograms, err := Read(path)
	if err != nil {
		return Arm{}, err
	}
	return Arm{Name: name, Path: path, Result: r, Histograms: histograms}, nil
}

// At returns the timed rounds of a single point of a sweep, as if the scenario had no sweep. The
// result has no profiles, because their paths depend on the point.
func (a Arm) At(number int) (Arm, error) {
	i := slices.IndexFunc(a.Result.Points, func(p Point) bool { return p.Number == number })
	if i < 0 {
		return a, fmt.Errorf("%s has no point %d: its sweep has %d points", a.Path, number, len(a.Result.Points))
	}
	r, p := *a.Result, a.Result.Points[i]
	s := &r.Manifest.Scenario
	setting, known := s.At(p.Swept())
	if !known {
		return a, fmt.Errorf("%s: the scenario does not have the settings of point %d, %s", a.Path, number, p.Name)
	}
	s.Topology, s.Workloads, s.Attack, s.Observe, s.Sweeps = setting.Topology, setting.Workloads, setting.Attack, setting.Observe, nil
	r.Points, r.Metrics, r.Bound = nil, p.Metrics, p.Bound
	r.Rounds, r.Profiles = nil, nil
	for _, round := range a.Result.Rounds {
		if round.Point == number && round.Timed() {
			round.Point = 0
			r.Rounds = append(r.Rounds, round)
		}
	}
	a.Result = &r
	return a, nil
}

// WriteComparison stores c in dir. It fails, and writes nothing, if a figure is NaN or infinite.
// Only for causes and profiles with such a number, it drops the entry and adds a warning instead.
func WriteComparison(dir string, c *Comparison) error {
	path := filepath.Join(dir, ComparisonFile)
	c.Causes = finiteOnly("causes", c.Causes, &c.Warnings)
	c.Profiles = finiteOnly("profiles", c.Profiles, &c.Warnings)
	data, err := encode(c)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return WriteFile(path, data)
}

// ReadComparison reads the comparison stored in dir.
func ReadComparison(dir string) (*Comparison, error) {
	var c Comparison
	if err := readJSON(filepath.Join(dir, ComparisonFile), only(Version), &c); err != nil {
		return nil, err
	}
	if !c.Verdict.Known() {
		return nil, fmt.Errorf("read %s: corrupt: %q is not a verdict", filepath.Join(dir, ComparisonFile), c.Verdict)
	}
	return &c, nil
}

// WriteJSON writes exactly one JSON document and a newline to w, in one call of Write. It writes
// nothing if a number is NaN or infinite.
func (c *Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, "the comparison", c) }

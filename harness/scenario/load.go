package scenario

import (
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Diagnostics is the error of Load: every problem of every file, each with its place, the line and a remedy.
// Its Error method renders all of them as plain text.
type Diagnostics = hclfile.Diagnostics

// Load reads scenario files and returns their scenarios in the order given, every default filled in. It reads
// all files to their ends before it answers. When anything is wrong with any of them it returns no scenario
// and a *Diagnostics that holds everything that is. A file may hold several scenarios; their names differ
// across all files. Load reads files and does nothing else.
func Load(paths ...string) ([]*Scenario, error) {
	if len(paths) == 0 {
		return nil, errors.New("no scenario file was given; name one, for example scenarios/smoke.hcl")
	}
	l := loader{names: map[string]string{}}
	given := map[string]bool{}
	for _, path := range paths {
		if given[path] {
			l.reader.Problem(path, "is given twice", "name each file once")
			continue
		}
		given[path] = true
		l.file(path, l.reader.File(path, fileNames))
	}
	return l.finish()
}

// parse is Load for one text in memory.
func parse(name string, src []byte) ([]*Scenario, error) {
	l := loader{names: map[string]string{}}
	l.file(name, l.reader.Source(name, src, fileNames))
	return l.finish()
}

// loader collects the scenarios of several files.
type loader struct {
	reader hclfile.Reader
	names  map[string]string // scenario name → where it is defined
	all    []*Scenario
}

func (l *loader) finish() ([]*Scenario, error) {
	if err := l.reader.Err(); err != nil {
		return nil, err
	}
	return l.all, nil
}

var fileNames = hclfile.Names{Blocks: []string{"scenario"}}

// file reads a file's outermost level; root is nil when the file could not be read.
func (l *loader) file(path string, root *hclfile.Block) {
	if root == nil {
		return
	}
	for _, b := range root.Blocks("scenario", hclfile.Inner{
		Names: scenarioNames, Label: "name", Example: `scenario "NAME" { ... }`, Required: true,
	}) {
		s := readScenario(b)
		s.File = path
		if first, taken := l.names[s.Name]; taken && s.Name != "" {
			b.LabelProblem(0, fmt.Sprintf("scenario %q is defined twice", s.Name),
				"the first is at "+first+"; rename one of the two")
		} else {
			l.names[s.Name] = b.Where()
		}
		l.all = append(l.all, s)
	}
}

var scenarioNames = hclfile.Names{
	Attributes: []string{"title", "tags", "rounds"},
	Blocks:     []string{"topology", "workload", "phases", "backlog", "series", "sweep", "capture", "invariant", "fault"},
}

// readScenario reads scenario "NAME" { ... }, once for each point of its sweeps.
func readScenario(b *hclfile.Block) *Scenario {
	sweeps := readSweeps(b)
	defer b.Restore()
	var s *Scenario
	for _, combination := range crossed(sweeps) {
		b.Restore()
		for i, v := range combination {
			b.Replace(sweeps[i].kind, sweeps[i].label, sweeps[i].attribute, v)
		}
		read := readOnce(b)
		if s == nil {
			s = read
		}
		s.addPoint(sweeps, combination, read)
		if b.Problems() >= problemsEnough {
			break
		}
	}
	return s
}

// problemsEnough is how many problems end the reading of further points: what is wrong with all of them would be
// counted over and over.
const problemsEnough = 100

// readOnce reads a scenario with the values of one point.
func readOnce(b *hclfile.Block) *Scenario {
	s := &Scenario{Name: readName(b)}
	s.Title = b.Text("title", hclfile.TextSpec{MaxBytes: 200, Default: s.Name, Example: "What it measures"})
	s.Tags = b.Names("tags", hclfile.NamesSpec{Max: 16, Example: `["smoke", "single-node"]`})
	s.Rounds = b.Int("rounds", hclfile.IntSpec{
		Min: 1, Max: RoundsMax, Default: 7,
		Why: "from six rounds on a median has a 95 % interval, below that a range",
	})
	s.Topology = readTopology(b)
	s.Workloads = readWorkloads(b)
	s.Phases = readPhases(b)
	s.Backlog = readBacklog(b, s.Workloads)
	s.SeriesEvery = readSeries(b, s.Phases.Window)
	s.Captures = readCaptures(b, s.Phases.Window)
	s.Invariants = readInvariants(b)
	s.Faults = readFaults(b, s)
	return s
}

// readName returns a block's label, which is a name, or "" after noting that it is not.
func readName(b *hclfile.Block) string {
	name := b.Label(0)
	if !hclfile.IsName(name) {
		b.LabelProblem(0, fmt.Sprintf("%s has a label that is not a name", b), hclfile.NameRule)
		return ""
	}
	return name
}

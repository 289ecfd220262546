package scenario

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Diagnostics is the error of Load: all problems of all files, each with its place, the line and a
// remedy. Its Error method formats them as plain text.
type Diagnostics = hclfile.Diagnostics

// Load reads scenario files and returns their scenarios in the given order, with every default
// filled in. A file may contain several scenarios, whose names must be unique across all files. If
// a file has a problem, Load still reads all files and returns no scenario but a *Diagnostics with
// all problems. It has no effect other than reading files.
func Load(paths ...string) ([]*Scenario, error) { return LoadWith(nil, paths...) }

// LoadWith is Load with values for variables, by name. A value applies to each file that has a
// variable of that name. A name that no file has is a problem.
func LoadWith(vars map[string]string, paths ...string) ([]*Scenario, error) {
	return LoadChecked(vars, Checks{}, paths...)
}

// Checks are validations that need knowledge outside of this package. Each may be nil.
type Checks struct {
	// Limit notes the problems of a limit block.
	Limit LimitCheck
	// Setting checks a setting of the server.
	Setting ServerSettingCheck
}

// LoadChecked is LoadWith with additional checks, whose problems it reports together with its own.
// If values for variables give a scenario fewer rounds than the defaults do, FileRounds is the
// number of rounds with the defaults.
func LoadChecked(vars map[string]string, checks Checks, paths ...string) ([]*Scenario, error) {
	all, err := loadChecked(vars, checks, paths...)
	if err != nil || len(vars) == 0 {
		return all, err
	}
	usual, err := loadChecked(nil, Checks{}, paths...)
	if err != nil { // a variable has no default, so the file defines no number of rounds
		return all, nil //nolint:nilerr // the caller's own load succeeded
	}
	for _, s := range all {
		for _, u := range usual {
			if u.Name == s.Name && u.Rounds > s.Rounds {
				s.FileRounds = u.Rounds
			}
		}
	}
	return all, nil
}

func loadChecked(vars map[string]string, checks Checks, paths ...string) ([]*Scenario, error) {
	if len(paths) == 0 {
		return nil, errors.New("no scenario file was given; name one, for example scenarios/smoke.hcl")
	}
	l := loader{reader: hclfile.Reader{Vars: vars}, checks: checks, names: map[string]string{}}
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

// parse is Load for one text in memory. others maps the paths of included files to their texts; if
// it is nil, includes are read from the file system.
func parse(name string, src []byte, others map[string]string) ([]*Scenario, error) {
	l := loader{names: map[string]string{}}
	if others != nil {
		l.reader.Read = func(path string) ([]byte, error) {
			if text, is := others[path]; is {
				return []byte(text), nil
			}
			return nil, errors.New("is no file")
		}
	}
	l.file(name, l.reader.Source(name, src, fileNames))
	return l.finish()
}

type loader struct {
	reader hclfile.Reader
	checks Checks
	names  map[string]string // scenario name → where it is defined
	all    []*Scenario
}

func (l *loader) finish() ([]*Scenario, error) {
	l.reader.CheckVars()
	if err := l.reader.Err(); err != nil {
		return nil, err
	}
	return l.all, nil
}

var fileNames = hclfile.Names{Blocks: []string{"scenario", "variable", "locals"}}

// file reads the outermost level of a file. root is nil if the file could not be read.
func (l *loader) file(path string, root *hclfile.Block) {
	if root == nil {
		return
	}
	blocks := root.Blocks("scenario", hclfile.Inner{
		Names: scenarioNames, Label: "name", Example: `scenario "NAME" { ... }`, Required: true,
	})
	// Variables and locals apply to all scenarios of a file, even if the definition is in a file
	// that only one of the scenarios includes. All includes are therefore expanded before Declare.
	for _, b := range blocks {
		b.Include(partNames)
	}
	root.Declare()
	for _, b := range blocks {
		s := readScenario(b, l.checks)
		s.File, s.Variables = path, root.Variables()
		if first, taken := l.names[s.Name]; taken && s.Name != "" {
			b.LabelProblem(fmt.Sprintf("scenario %q is defined twice", s.Name),
				"the first is at "+first+"; rename one of the two")
		} else {
			l.names[s.Name] = b.Where()
		}
		l.all = append(l.all, s)
	}
}

// partNames are the blocks that a scenario, or a file that it includes, may contain.
var partNames = []string{
	"topology", "target", "workload", "phases", "backlog", "series", "sweep", "zip", "capture", "invariant", "validity", "fault", "attack", "observe", "recurring",
	"limit", "score", "soak",
}

var scenarioNames = hclfile.Names{
	Attributes: []string{"title", "tags", "rounds", "profiled_rounds", "references"},
	Blocks:     append(slices.Clone(partNames), "include"),
}

// readScenario reads scenario "NAME" { ... }, once for each point of its sweeps.
func readScenario(b *hclfile.Block, checks Checks) *Scenario {
	axes := readAxes(b)
	defer b.Restore()
	var s *Scenario
	for _, combination := range crossed(axes) {
		b.Restore()
		for _, set := range combination {
			for _, sweep := range set.axis.sweeps {
				b.Replace(sweep.kind, sweep.label, sweep.attribute, sweep.values[set.index])
			}
		}
		read := readOnce(b, checks.Setting)
		if s == nil {
			s = read
		}
		s.addPoint(axes, combination, read)
		if b.Problems() >= problemsEnough {
			break
		}
	}
	s.Scripts = scriptsOf(s.Points)
	s.Limits = readLimits(b, s, checks.Limit)
	return s
}

// problemsEnough is the number of problems after which further points are not read. Each further
// point would count the same problems again.
const problemsEnough = 100

// readOnce reads a scenario with the values of one point.
func readOnce(b *hclfile.Block, check ServerSettingCheck) *Scenario {
	s := &Scenario{Name: readName(b)}
	s.Title = b.Text("title", hclfile.TextSpec{MaxBytes: 200, Default: s.Name, Example: "What it measures"})
	s.Tags = b.Names("tags", hclfile.NamesSpec{Max: 16, Example: `["smoke", "single-node"]`})
	s.Rounds = b.Int("rounds", hclfile.IntSpec{
		Min: 1, Max: RoundsMax, Default: 7,
		Why: "with six or more rounds a median has a 95 % interval, with fewer only a range",
	})
	s.Topology = readTopology(b, check)
	s.Phases = readPhases(b)
	s.Workloads = readWorkloads(b, s.Topology, s.Phases.Window)
	s.References = readReferences(b, s)
	s.Backlog = readBacklog(b, s.Workloads)
	s.SeriesEvery = readSeries(b, s.Phases.Window)
	s.Captures = readCaptures(b, s.Phases.Window)
	s.ProfiledRounds = readProfiledRounds(b, s.Captures)
	s.Faults = readFaults(b, s)
	s.Attack = readAttack(b, s.Topology)
	s.Observe = readObserve(b, s.Topology.Kind, s.Phases.Window)
	s.Recurring = readRecurring(b, s)
	s.Invariants = readInvariants(b, s)
	s.Validity = readValidity(b)
	s.Score = readScore(b)
	checkHosts(b, s)
	checkWarmup(b, s)
	checkServer(b, s.Topology.Kind)
	checkRemote(b, s)
	checkTargetServers(b, s)
	checkOfK6(b, s)
	if s.Soak = readSoak(b, s); s.Soak != nil {
		s.Rounds = 1
	}
	checkRoles(b, s)
	checkFail(b, s)
	checkDelay(b, s)
	checkResult(b, s)
	checkExtend(b, s)
	checkKey(b, s)
	checkUnique(b, s)
	checkCancel(b, s)
	checkHeadersOf(b, s)
	checkFinalTasksOf(b, s)
	checkVolume(b, s)
	return s
}

func checkServer(b *hclfile.Block, kind string) {
	for _, part := range []string{"backlog", "series", "capture"} {
		if kind == NoTopology && b.HasBlock(part) {
			b.Problem(fmt.Sprintf("%s has a %s and no server", b, part), "remove it, or use another topology")
		}
	}
}

// readName returns the label of a block, or "" after it noted that the label is not a name.
func readName(b *hclfile.Block) string {
	name := b.Label()
	if !hclfile.IsName(name) {
		b.LabelProblem(fmt.Sprintf("%s has a label that is not a name", b), hclfile.NameRule)
		return ""
	}
	return name
}

package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Kind says which side of a limit is allowed.
type Kind string

const (
	// Floor says that the metric must be at least the limit.
	Floor Kind = "floor"
	// Ceiling says that the metric must be at most the limit.
	Ceiling Kind = "ceiling"
)

// Limit is one floor or ceiling of a baseline.
type Limit struct {
	Metric string
	Kind   Kind
	Value  float64 // positive and finite; 0 only in a ceiling on a metric of which 0 is a measurement
	Point  string  // which point of a sweep it holds for; "" is each that has no limit of its own
	// RelativeToPoint is the point whose figure Value is a multiple of; "" if Value is the limit itself.
	RelativeToPoint string
	// OfBaseline reports that Value is a ratio to the baseline build's figure.
	OfBaseline bool
	// Workload is which of several workloads it holds for; "" is all of them together.
	Workload string
	Because  string // why the limit is what it is, never empty
	// Observed is what was measured when the limit was chosen, and On the machine: 0 and "" when not stated.
	Observed float64
	On       string
	// Unobserved says why the published run of the scenario has no figure that keeps the limit; "" beside Observed.
	Unobserved string
}

// Baseline holds the limits of one scenario: its floors, then its ceilings, at least one in all.
type Baseline struct {
	Scenario string
	// Configuration is scenario.Scenario.Configuration of what the limits were set for; "" if the file does not say it.
	Configuration string
	Limits        []Limit
	where         map[string]string // a limit's name → the place of its block
	File          string            // the path it was read from
}

// Baselines are the baselines of a folder. They do not change after loading, so they are safe for concurrent use.
type Baselines struct {
	dir       string
	scenarios map[string]Baseline
}

// For returns the baseline of a scenario.
func (b *Baselines) For(scenario string) (Baseline, bool) {
	if b == nil {
		return Baseline{}, false
	}
	baseline, ok := b.scenarios[scenario]
	return baseline, ok
}

// LoadBaselines reads every .hcl file directly in dir, but for the one that names the baseline build. When anything is wrong with any of them the error is a
// *hclfile.Diagnostics that holds everything that is.
func LoadBaselines(dir string) (*Baselines, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the folder of baselines: %w", err)
	}
	l := baselineLoader{
		loaded: &Baselines{dir: dir, scenarios: map[string]Baseline{}},
		where:  map[string]string{},
	}
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".hcl") {
			continue
		}
		files++
		if e.Name() != baselinebuild.FileName {
			path := filepath.Join(dir, e.Name())
			l.file(path, l.reader.File(path, baselineFileNames))
		}
	}
	if files == 0 {
		return nil, fmt.Errorf("the folder of baselines %s holds no .hcl file", dir)
	}
	if err := l.reader.Err(); err != nil {
		return nil, err
	}
	return l.loaded, nil
}

type baselineLoader struct {
	reader hclfile.Reader
	loaded *Baselines
	where  map[string]string // scenario → the place of its baseline
}

var (
	baselineFileNames = hclfile.Names{Blocks: []string{"baseline"}}
	baselineBlock     = hclfile.Inner{
		Names: hclfile.Names{Attributes: []string{configurationName}, Blocks: []string{"floor", "ceiling"}},
		Label: "scenario", Example: `baseline "SCENARIO" { ... }`, Required: true,
	}
)

func (l *baselineLoader) file(path string, root *hclfile.Block) {
	if root == nil {
		return
	}
	for _, b := range root.Blocks("baseline", baselineBlock) {
		name := b.Label()
		if !hclfile.IsName(name) {
			b.LabelProblem(fmt.Sprintf("%q is not the name of a scenario", name), hclfile.NameRule)
		}
		if first, taken := l.where[name]; taken {
			b.LabelProblem(fmt.Sprintf("scenario %q has two baselines", name), "the first is at "+first+"; keep one of the two")
		}
		l.where[name] = b.Where()
		limits, where := readLimits(b)
		l.loaded.scenarios[name] = Baseline{Scenario: name, Configuration: readConfiguration(b), Limits: limits, where: where, File: path}
	}
}

// readLimits reads the floors and ceilings of baseline "SCENARIO" { ... }, with the place of each by its name.
func readLimits(b *hclfile.Block) (limits []Limit, seen map[string]string) {
	floors, ceilings := b.Blocks("floor", floorBlock), b.Blocks("ceiling", ceilingBlock)
	if len(floors)+len(ceilings) == 0 {
		b.Problem(fmt.Sprintf("%s has no limit", b), "lost, duplicated and corrupted are judged without a baseline; add a floor or a ceiling on another metric")
	}
	// A floor is for a metric that should be high, a ceiling for one that should be low. What servers promise may have both.
	seen = map[string]string{}
	read := func(block *hclfile.Block, kind Kind) {
		limit, ok := readLimit(block, kind)
		if !ok {
			return
		}
		name := limit.name()
		if first, twice := seen[name]; twice {
			block.LabelProblem(fmt.Sprintf("%s has two limits", name), "the first is at "+first+"; keep one of the two")
		}
		seen[name] = block.Where()
		limits = append(limits, limit)
	}
	for _, block := range floors {
		read(block, Floor)
	}
	for _, block := range ceilings {
		read(block, Ceiling)
	}
	return limits, seen
}

// metricNames are the metrics that a limit may be set on.
func metricNames() []string {
	var names []string
	for _, spec := range result.Specs() {
		names = append(names, spec.Name)
	}
	return names
}

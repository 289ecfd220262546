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

// Kind is the direction of a limit: a lower or an upper bound of the metric.
type Kind string

const (
	// Floor requires the metric to be at least the limit.
	Floor Kind = "floor"
	// Ceiling requires the metric to be at most the limit.
	Ceiling Kind = "ceiling"
)

// Limit is one floor or ceiling of a baseline.
type Limit struct {
	Metric string
	Kind   Kind
	Value  float64 // positive and finite; 0 only in a ceiling, if the metric's Spec has Zero
	// Point is the sweep point that the limit applies to; "" for every point without a separate
	// limit.
	Point string
	// RelativeToPoint is a sweep point: the limit is Value times the figure at that point. It is ""
	// if Value is absolute.
	RelativeToPoint string
	// OfBaseline reports that Value is a ratio to the figure of the baseline build.
	OfBaseline bool
	// Workload is the workload that the limit applies to; "" for all workloads together.
	Workload string
	Because  string // the reason for the limit, never empty
	// Observed was measured on the machine On when the limit was chosen; 0 and "" if not stated.
	Observed float64
	On       string
	// Unobserved explains why the scenario's published run contains no figure that meets the limit.
	// It is "" if Observed is set.
	Unobserved string
}

// Baseline contains the limits of one scenario, at least one, with floors before ceilings.
type Baseline struct {
	Scenario string
	// Configuration is the scenario.Scenario.Configuration that the limits were set for; "" if the
	// file does not name one.
	Configuration string
	Limits        []Limit
	where         map[string]string // a limit's name → the place of its block
	File          string            // the path of its file
}

// Baselines are the baselines of a folder. They do not change after loading, so they are safe for
// concurrent use.
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

// LoadBaselines reads every .hcl file directly in dir, except the file that names the baseline
// build. Its error is a *hclfile.Diagnostics with every problem found in the files.
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

// readLimits reads the floors and ceilings in the baseline block of a scenario. seen maps the name
// of each limit to its position in the file.
func readLimits(b *hclfile.Block) (limits []Limit, seen map[string]string) {
	floors, ceilings := b.Blocks("floor", floorBlock), b.Blocks("ceiling", ceilingBlock)
	if len(floors)+len(ceilings) == 0 {
		b.Problem(fmt.Sprintf("%s has no limit", b), "lost, duplicated and corrupted are judged without a baseline; add a floor or a ceiling on another metric")
	}
	// A metric that a server promises may have both a floor and a ceiling. Any other metric may
	// only have the kind of limit that its better direction demands.
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

func metricNames() []string {
	var names []string
	for _, spec := range result.Specs() {
		names = append(names, spec.Name)
	}
	return names
}

package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Sweep is a setting with several values, or several settings whose values advance together (a
// zip).
type Sweep struct {
	// Path is "topology.shards" or "workload.NAME.workers", for example, or the paths of a zip
	// joined by ", ".
	Path string `json:"path"`
	// Values are 1 to PointsMax values as written, strings without quotes. Those of a zip are
	// joined like the paths.
	Values []string `json:"values"`
}

// Point is one combination of the swept values, with the parts of the scenario that they affect.
type Point struct {
	Name      string  // "shards=4", or "shards=4, workers=8"; "" for a scenario without a sweep
	Values    []Value // one for each sweep, in their order
	Topology  Topology
	Workloads []Workload
	Attack    *Attack
	Observe   *Observe
}

// Value is the value of one sweep at a point.
type Value struct {
	Path, Text string
}

// Plan returns the points to measure: Points, or without a sweep a single point with the scenario's
// settings.
func (s *Scenario) Plan() []Point {
	if len(s.Points) > 0 {
		return s.Points
	}
	return []Point{{Topology: s.Topology, Workloads: s.Workloads, Attack: s.Attack, Observe: s.Observe}}
}

var sweepBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"values"}},
	Label: "path", Example: sweepExample,
}

const sweepExample = `sweep "topology.shards" { values = [1, 2, 4] }`

var zipBlock = hclfile.Inner{
	Names:   hclfile.Names{Blocks: []string{"sweep"}},
	Example: "zip { " + sweepExample + " ... }",
}

// sweep is a parsed sweep block. Its path is split into its parts.
type sweep struct {
	path, kind, label, attribute string
	values                       []hclfile.Value
	block                        *hclfile.Block
}

// axis is one sweep, or the sweeps of a zip, which have equal numbers of values and advance
// together.
type axis struct {
	sweeps []sweep
	order  int // position among the blocks of the scenario
}

func (a axis) len() int { return len(a.sweeps[0].values) }

// readAxes reads each sweep and each zip in the order of the file. It omits those with a problem.
func readAxes(s *hclfile.Block) []axis {
	r := axesReader{scenario: s, first: map[string]string{}}
	var axes []axis
	for _, b := range s.Blocks("sweep", sweepBlock) {
		if found, ok := r.sweep(b, false); ok {
			axes = append(axes, axis{[]sweep{found}, b.Order()})
		}
	}
	for _, b := range s.Blocks("zip", zipBlock) {
		if found, ok := r.zip(b); ok {
			axes = append(axes, axis{found, b.Order()})
		}
	}
	slices.SortStableFunc(axes, func(a, b axis) int { return a.order - b.order })
	points := 1
	for i, a := range axes {
		if points *= a.len(); points > PointsMax {
			a.sweeps[0].block.Problem(fmt.Sprintf("the sweeps have %d points in total; the maximum is %d", points, PointsMax), "sweep fewer values")
			return axes[:i]
		}
	}
	return axes
}

// axesReader reads the sweeps of a scenario and refuses a second one for the same path.
type axesReader struct {
	scenario *hclfile.Block
	first    map[string]string // path → where it is swept
}

func (r *axesReader) zip(b *hclfile.Block) (sweeps []sweep, ok bool) {
	problems := b.Problems()
	blocks := b.Blocks("sweep", sweepBlock)
	for _, inner := range blocks {
		if found, ok := r.sweep(inner, true); ok {
			sweeps = append(sweeps, found)
		}
	}
	switch {
	case len(blocks) < 2:
		b.Problem("zip has fewer than two sweeps to advance together", "write "+zipBlock.Example)
		return nil, false
	case b.Problems() > problems || len(sweeps) < 2:
		return nil, false
	}
	for _, other := range sweeps[1:] {
		if n := len(other.values); n != len(sweeps[0].values) {
			other.block.AttrProblem("values", fmt.Sprintf("%s has %d values, but %s in the same zip has %d",
				other.path, n, sweeps[0].path, len(sweeps[0].values)), "write equal numbers of values")
			return nil, false
		}
	}
	for i := range sweeps[0].values {
		for k := range i {
			if same := slices.IndexFunc(sweeps, func(s sweep) bool { return s.values[i].Text() != s.values[k].Text() }) < 0; same {
				b.Problem(fmt.Sprintf("the sweeps of the zip have the same values at positions %d and %d", k+1, i+1), "keep one of the two points")
				return nil, false
			}
		}
	}
	return sweeps, true
}

// sweep reads sweep "PATH" { values }. A sweep in a zip may repeat a value.
func (r *axesReader) sweep(b *hclfile.Block, zipped bool) (sweep, bool) {
	values := b.Values("values", hclfile.ValuesSpec{Min: 1, Max: PointsMax, Repeats: zipped, Example: "[1, 2, 4]"})
	found, ok := readSweepPath(r.scenario, b)
	if !ok || values == nil {
		return sweep{}, false
	}
	if where, twice := r.first[found.path]; twice {
		b.LabelProblem(fmt.Sprintf("%s is swept twice", found.path), "the first sweep is at "+where+"; keep one of the two")
		return sweep{}, false
	}
	r.first[found.path] = b.Where()
	found.values, found.block = values, b
	return found, true
}

// readSweepPath parses the label of the sweep block b, and checks that s has the setting.
func readSweepPath(s, b *hclfile.Block) (found sweep, ok bool) {
	path := b.Label()
	parts := strings.Split(path, ".")
	var attributes []string
	switch {
	case len(parts) == 2 && parts[0] == "topology":
		found = sweep{path: path, kind: "topology", attribute: parts[1]}
		attributes = append(topologyTable.swept(), kindAttribute)
	case len(parts) == 3 && parts[0] == "topology" && parts[1] == "hosts":
		found = sweep{path: path, kind: "hosts", attribute: parts[2]}
		attributes = hostsTable.swept()
		if !slices.ContainsFunc(s.Blocks("topology", topologyBlock), func(t *hclfile.Block) bool { return t.HasBlock("hosts") }) {
			b.LabelProblem("the topology has no hosts block to sweep", "add "+hostsBlock.Example+" to it")
			return sweep{}, false
		}
	case len(parts) == 3 && parts[0] == "topology" && parts[1] == "build":
		found = sweep{path: path, kind: "build", attribute: parts[2]}
		attributes = buildTable.swept()
		if !slices.ContainsFunc(s.Blocks("topology", topologyBlock), func(t *hclfile.Block) bool { return t.HasBlock("build") }) {
			b.LabelProblem("the topology has no build block to sweep", "add "+buildBlock.Example+" to it")
			return sweep{}, false
		}
	// A sweep of a setting needs no settings block in the topology.
	case len(parts) > 2 && len(parts) <= 4 && parts[0] == "topology" && parts[1] == "settings":
		name := strings.Join(parts[2:], ".")
		if remedy, owned := ownedSettings[name]; owned {
			b.LabelProblem(ownedProblem(name), remedy)
			return sweep{}, false
		}
		return sweep{path: path, kind: "topology", attribute: settingsPrefix + name}, true
	case len(parts) == 2 && parts[0] == "target":
		found = sweep{path: path, kind: "target", attribute: parts[1]}
		attributes = targetSweeps
		if !s.HasBlock("target") {
			b.LabelProblem("the scenario has no target to sweep", "write "+targetBlock.Example+" instead of the topology")
			return sweep{}, false
		}
	case len(parts) == 2 && parts[0] == "attack":
		found = sweep{path: path, kind: "attack", attribute: parts[1]}
		attributes = attackTable.swept()
		if !s.HasBlock("attack") {
			b.LabelProblem("the scenario has no attack block to sweep", "add "+attackBlock.Example)
			return sweep{}, false
		}
	case len(parts) == 2 && parts[0] == "observe":
		found = sweep{path: path, kind: "observe", attribute: parts[1]}
		attributes = observeTable.swept()
		if !s.HasBlock("observe") {
			b.LabelProblem("the scenario has no observe block to sweep", "add "+observeBlock.Example)
			return sweep{}, false
		}
	case len(parts) == 3 && parts[0] == "workload":
		found = sweep{path: path, kind: "workload", label: parts[1], attribute: parts[2]}
		attributes = workloadTable.swept()
		if names := s.Labels("workload"); !slices.Contains(names, parts[1]) {
			b.LabelProblem(fmt.Sprintf("there is no workload %q to sweep", parts[1]), hclfile.Suggest(parts[1], names))
			return sweep{}, false
		}
	default:
		b.LabelProblem(fmt.Sprintf("%q is not the path of a setting that can be swept", path),
			`write "topology.ATTRIBUTE", "topology.hosts.ATTRIBUTE", "topology.settings.NAME", "topology.build.ATTRIBUTE", "target.ATTRIBUTE", "workload.NAME.ATTRIBUTE", "attack.clients" or "observe.ATTRIBUTE"`)
		return sweep{}, false
	}
	if !slices.Contains(attributes, found.attribute) {
		b.LabelProblem(fmt.Sprintf("%s has no attribute %q to sweep", found.kind, found.attribute), hclfile.Suggest(found.attribute, attributes))
		return sweep{}, false
	}
	return found, true
}

// setting is one value of an axis.
type setting struct {
	axis  axis
	index int
}

func (s setting) values() []Value {
	var values []Value
	for _, sweep := range s.axis.sweeps {
		values = append(values, Value{Path: sweep.path, Text: sweep.values[s.index].Text()})
	}
	return values
}

// crossed returns all combinations of the values of axes. The values of the last axis change
// fastest. Without axes it returns a single empty combination.
func crossed(axes []axis) [][]setting {
	all := [][]setting{nil}
	for _, a := range axes {
		var longer [][]setting
		for _, c := range all {
			for i := range a.len() {
				longer = append(longer, append(slices.Clip(c), setting{a, i}))
			}
		}
		all = longer
	}
	return all
}

// addPoint appends the point of a combination of swept values. read is the scenario as parsed with
// these values. The first call also sets s.Sweeps.
func (s *Scenario) addPoint(axes []axis, combination []setting, read *Scenario) {
	if len(axes) == 0 {
		return
	}
	if len(s.Points) == 0 {
		for _, a := range axes {
			var swept Sweep
			for i := range a.len() {
				together := joined(setting{a, i}.values())
				swept.Path = together.Path
				swept.Values = append(swept.Values, together.Text)
			}
			s.Sweeps = append(s.Sweeps, swept)
		}
	}
	p := Point{Topology: read.Topology, Workloads: read.Workloads, Attack: read.Attack, Observe: read.Observe}
	var names []string
	for _, set := range combination {
		values := set.values()
		p.Values = append(p.Values, joined(values))
		for _, v := range values {
			names = append(names, ShortPath(v.Path, s.Sweeps)+"="+v.Text)
		}
	}
	p.Name = strings.Join(names, ", ")
	s.Points = append(s.Points, p)
}

// scriptsOf returns the distinct scripts of the points, or nil if there are fewer than two.
func scriptsOf(points []Point) (all []Script) {
	for _, p := range points {
		for _, w := range p.Workloads {
			if w.Driver == DriverK6 && !slices.Contains(all, w.Script) {
				all = append(all, w.Script)
			}
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

// Swept returns the values of the sweep with this path, such as "topology.shards", in their order.
// It returns nil if there is no such sweep.
func (s *Scenario) Swept(path string) []string {
	for _, sweep := range s.Sweeps {
		if sweep.Path == path {
			return sweep.Values
		}
	}
	return nil
}

// SweptTogether is Swept for a setting that may be in a zip. It returns each value once.
func (s *Scenario) SweptTogether(path string) (values []string) {
	for _, sweep := range s.Sweeps {
		paths := strings.Split(sweep.Path, between)
		at := slices.Index(paths, path)
		if at < 0 {
			continue
		}
		for _, joined := range sweep.Values {
			texts := []string{joined}
			if len(paths) > 1 {
				texts = strings.Split(joined, between)
			}
			if len(texts) == len(paths) && !slices.Contains(values, texts[at]) {
				values = append(values, texts[at])
			}
		}
	}
	return values
}

// between separates the paths and the values of the sweeps of a zip.
const between = ", "

// joined joins the values of the sweeps of a zip into one.
func joined(values []Value) Value {
	var paths, texts []string
	for _, v := range values {
		paths, texts = append(paths, v.Path), append(texts, v.Text)
	}
	return Value{Path: strings.Join(paths, between), Text: strings.Join(texts, between)}
}

// ShortPath returns the last element of a swept path, or the whole path if another sweep has the
// same last element. For the path of a zip it shortens each of the joined paths.
func ShortPath(path string, sweeps []Sweep) string {
	last := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	var all []string
	for _, s := range sweeps {
		all = append(all, strings.Split(s.Path, between)...)
	}
	paths := strings.Split(path, between)
	for i, p := range paths {
		alike := func(other string) bool { return other != p && last(other) == last(p) }
		if !slices.ContainsFunc(all, alike) {
			paths[i] = last(p)
		}
	}
	return strings.Join(paths, between)
}

package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Sweep is a setting that takes several values, or several such settings that take theirs together.
type Sweep struct {
	Path   string   `json:"path"`   // "topology.shards", "workload.NAME.workers", or several paths with ", " in between
	Values []string `json:"values"` // as written, strings without quotes; 1 to PointsMax; of several paths likewise with ", "
}

// Point is one combination of the swept values, and what it makes of the scenario.
type Point struct {
	Name      string  // "shards=4", or "shards=4, workers=8"; "" for that of a scenario without a sweep
	Values    []Value // one for each sweep, in their order
	Topology  Topology
	Workloads []Workload
	Attack    *Attack
	Observe   *Observe
}

// Value is what a point takes for one sweep.
type Value struct {
	Path, Text string
}

// Plan returns the points to measure: Points, or without a sweep a single one that is the scenario
// as it stands.
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

// sweep is a sweep "PATH" { values }, with its path taken apart.
type sweep struct {
	path, kind, label, attribute string
	values                       []hclfile.Value
	block                        *hclfile.Block
}

// axis is one sweep, or the sweeps of a zip, which have as many values and advance together.
type axis struct {
	sweeps []sweep
	order  int // where it is written among the blocks of the scenario
}

func (a axis) len() int { return len(a.sweeps[0].values) }

// readAxes reads each sweep and each zip, in the order of the file, leaving out those with a
// problem.
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
			a.sweeps[0].block.Problem(fmt.Sprintf("the sweeps make %d points together; there may be %d", points, PointsMax), "sweep fewer values")
			return axes[:i]
		}
	}
	return axes
}

// axesReader reads the sweeps of a scenario, no two of one path.
type axesReader struct {
	scenario *hclfile.Block
	first    map[string]string // path → where it is swept
}

// zip reads zip { sweep ... }.
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
		b.Problem("zip has fewer than two sweeps: it is for those that advance together", "write "+zipBlock.Example)
		return nil, false
	case b.Problems() > problems || len(sweeps) < 2:
		return nil, false
	}
	for _, other := range sweeps[1:] {
		if n := len(other.values); n != len(sweeps[0].values) {
			other.block.AttrProblem("values", fmt.Sprintf("%s has %d values; %s, with which it advances, has %d",
				other.path, n, sweeps[0].path, len(sweeps[0].values)), "give both as many")
			return nil, false
		}
	}
	for i := range sweeps[0].values {
		for k := range i {
			if same := slices.IndexFunc(sweeps, func(s sweep) bool { return s.values[i].Text() != s.values[k].Text() }) < 0; same {
				b.Problem(fmt.Sprintf("the sweeps of the zip have the same values at places %d and %d", k+1, i+1), "keep one of the two points")
				return nil, false
			}
		}
	}
	return sweeps, true
}

// sweep reads sweep "topology.ATTRIBUTE", "topology.hosts.ATTRIBUTE", "topology.settings.NAME",
// "topology.build.ATTRIBUTE" or "workload.NAME.ATTRIBUTE". One of a zip may repeat a value.
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

// readSweepPath finds the setting that a sweep's label names.
func readSweepPath(s, b *hclfile.Block) (found sweep, ok bool) {
	path := b.Label()
	parts := strings.Split(path, ".")
	var attributes []string
	switch {
	case len(parts) == 2 && parts[0] == "topology":
		found = sweep{path: path, kind: "topology", attribute: parts[1]}
		attributes = append(slices.Clone(topologyBlock.Names.Attributes), kindAttribute)
	case len(parts) == 3 && parts[0] == "topology" && parts[1] == "hosts":
		found = sweep{path: path, kind: "hosts", attribute: parts[2]}
		attributes = hostsBlock.Names.Attributes
		if !slices.ContainsFunc(s.Blocks("topology", topologyBlock), func(t *hclfile.Block) bool { return t.HasBlock("hosts") }) {
			b.LabelProblem("the topology has no hosts block to sweep", "add "+hostsBlock.Example+" to it")
			return sweep{}, false
		}
	case len(parts) == 3 && parts[0] == "topology" && parts[1] == "build":
		found = sweep{path: path, kind: "build", attribute: parts[2]}
		attributes = []string{"race", "goamd64"}
		if !slices.ContainsFunc(s.Blocks("topology", topologyBlock), func(t *hclfile.Block) bool { return t.HasBlock("build") }) {
			b.LabelProblem("the topology has no build block to sweep", "add "+buildBlock.Example+" to it")
			return sweep{}, false
		}
	case len(parts) > 2 && len(parts) <= 4 && parts[0] == "topology" && parts[1] == "settings": // the topology needs no settings block for it
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
			b.LabelProblem("the scenario has no target to sweep", "write "+targetBlock.Example+" in place of the topology")
			return sweep{}, false
		}
	case len(parts) == 2 && parts[0] == "attack":
		found = sweep{path: path, kind: "attack", attribute: parts[1]}
		attributes = []string{"clients"}
		if !s.HasBlock("attack") {
			b.LabelProblem("the scenario has no attack block to sweep", "add "+attackBlock.Example)
			return sweep{}, false
		}
	case len(parts) == 2 && parts[0] == "observe":
		found = sweep{path: path, kind: "observe", attribute: parts[1]}
		attributes = observeBlock.Names.Attributes
		if !s.HasBlock("observe") {
			b.LabelProblem("the scenario has no observe block to sweep", "add "+observeBlock.Example)
			return sweep{}, false
		}
	case len(parts) == 3 && parts[0] == "workload":
		found = sweep{path: path, kind: "workload", label: parts[1], attribute: parts[2]}
		attributes = workloadBlock.Names.Attributes
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

// setting is one of an axis' values.
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

// crossed returns all combinations of the values of axes, the last axis' changing fastest: of none,
// a single empty one.
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

// addPoint notes a combination of swept values and the scenario that was read with them.
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

// scriptsOf lists the scripts that points run, or nothing if they run the same one.
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

// Swept returns the values that the setting at a path takes in a sweep, in their order, or nothing
// if it is not swept. The path is that of the setting as a sweep names it, for example
// "topology.shards".
func (s *Scenario) Swept(path string) []string {
	for _, sweep := range s.Sweeps {
		if sweep.Path == path {
			return sweep.Values
		}
	}
	return nil
}

// SweptTogether is Swept also of a setting that is swept together with others, and returns each
// value once.
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

// between stands between the paths, and the values, of sweeps that advance together.
const between = ", "

// joined makes one value of those of sweeps that advance together.
func joined(values []Value) Value {
	var paths, texts []string
	for _, v := range values {
		paths, texts = append(paths, v.Path), append(texts, v.Text)
	}
	return Value{Path: strings.Join(paths, between), Text: strings.Join(texts, between)}
}

// ShortPath is the last part of a swept path, or the whole path where another sweep's ends alike;
// of sweeps that advance together, those of each.
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

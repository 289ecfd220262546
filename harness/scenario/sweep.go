package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var sweepBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"values"}},
	Label: "path", Example: sweepExample,
}

const sweepExample = `sweep "topology.shards" { values = [1, 2, 4] }`

// sweep is a sweep "PATH" { values }, with its path taken apart.
type sweep struct {
	path, kind, label, attribute string
	values                       []hclfile.Value
}

// readSweeps reads each sweep "topology.ATTRIBUTE" or "workload.NAME.ATTRIBUTE", leaving out those with a problem.
func readSweeps(s *hclfile.Block) []sweep {
	var sweeps []sweep
	first := map[string]string{}
	points := 1
	for _, b := range s.Blocks("sweep", sweepBlock) {
		values := b.Values("values", hclfile.ValuesSpec{Min: 1, Max: PointsMax, Example: "[1, 2, 4]"})
		found, ok := readSweepPath(s, b)
		if !ok || values == nil {
			continue
		}
		if where, twice := first[found.path]; twice {
			b.LabelProblem(0, fmt.Sprintf("%s is swept twice", found.path), "the first sweep is at "+where+"; keep one of the two")
			continue
		}
		first[found.path] = b.Where()
		if points *= len(values); points > PointsMax {
			b.Problem(fmt.Sprintf("the sweeps make %d points together; there may be %d", points, PointsMax), "sweep fewer values")
			points /= len(values)
			continue
		}
		found.values = values
		sweeps = append(sweeps, found)
	}
	return sweeps
}

// readSweepPath finds the setting that a sweep's label names.
func readSweepPath(s, b *hclfile.Block) (found sweep, ok bool) {
	path := b.Label(0)
	parts := strings.Split(path, ".")
	var attributes []string
	switch {
	case len(parts) == 2 && parts[0] == "topology":
		found = sweep{path: path, kind: "topology", attribute: parts[1]}
		attributes = append(slices.Clone(topologyBlock.Names.Attributes), kindAttribute)
	case len(parts) == 3 && parts[0] == "workload":
		found = sweep{path: path, kind: "workload", label: parts[1], attribute: parts[2]}
		attributes = workloadBlock.Names.Attributes
		if names := s.Labels("workload"); !slices.Contains(names, parts[1]) {
			b.LabelProblem(0, fmt.Sprintf("there is no workload %q to sweep", parts[1]), didYouMean(parts[1], names))
			return sweep{}, false
		}
	default:
		b.LabelProblem(0, fmt.Sprintf("%q is not the path of a setting that can be swept", path),
			`write "topology.ATTRIBUTE" or "workload.NAME.ATTRIBUTE"`)
		return sweep{}, false
	}
	if !slices.Contains(attributes, found.attribute) {
		b.LabelProblem(0, fmt.Sprintf("%s has no attribute %q to sweep", found.kind, found.attribute), didYouMean(found.attribute, attributes))
		return sweep{}, false
	}
	return found, true
}

func didYouMean(name string, known []string) string {
	if meant := hclfile.Nearest(name, known); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return "there are: " + hclfile.List(known)
}

// crossed returns all combinations of the values of sweeps, the last sweep's changing fastest: of none, a single
// empty one.
func crossed(sweeps []sweep) [][]hclfile.Value {
	all := [][]hclfile.Value{nil}
	for _, s := range sweeps {
		var longer [][]hclfile.Value
		for _, c := range all {
			for _, v := range s.values {
				longer = append(longer, append(slices.Clip(c), v))
			}
		}
		all = longer
	}
	return all
}

// addPoint notes a combination of swept values and the scenario that was read with them.
func (s *Scenario) addPoint(sweeps []sweep, combination []hclfile.Value, read *Scenario) {
	if len(sweeps) == 0 {
		return
	}
	if len(s.Points) == 0 {
		for _, w := range sweeps {
			swept := Sweep{Path: w.path}
			for _, v := range w.values {
				swept.Values = append(swept.Values, v.Text())
			}
			s.Sweeps = append(s.Sweeps, swept)
		}
	}
	p := Point{Topology: read.Topology, Workloads: read.Workloads}
	var names []string
	for i, v := range combination {
		p.Values = append(p.Values, Value{Path: sweeps[i].path, Text: v.Text()})
		names = append(names, ShortPath(sweeps[i].path, s.Sweeps)+"="+v.Text())
	}
	p.Name = strings.Join(names, ", ")
	s.Points = append(s.Points, p)
}

// ShortPath is the last part of a swept path, or the whole path where another sweep's ends alike.
func ShortPath(path string, sweeps []Sweep) string {
	last := func(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }
	for _, s := range sweeps {
		if s.Path != path && last(s.Path) == last(path) {
			return path
		}
	}
	return last(path)
}

package hostcompare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// metrics are the compared metrics, with their percentile if they come from a histogram.
var metrics = []struct {
	name       string
	percentile float64
}{
	{result.CyclesPerS, 0},
	{"cycle_latency_ms_p50", 50},
	{"cycle_latency_ms_p99", 99},
	{result.CPUUsPerCycle, 0},
	{result.ServerCPUUsPerCycle, 0},
}

// Compare compares two hosts.
func Compare(a, b Set) *Comparison {
	c := &Comparison{
		A: Side{a.Folder, len(a.all)}, B: Side{b.Folder, len(b.all)},
		Manifest: manifests(a, b), Scenarios: []Scenario{}, Left: []Left{},
	}
	for _, name := range names(a, b) {
		ofA, ofB := a.of(name), b.of(name)
		if why := c.pair(ofA, ofB); why != "" {
			c.Left = append(c.Left, Left{name, why})
		}
	}
	return c
}

func names(sets ...Set) (all []string) {
	for _, s := range sets {
		for _, r := range s.all {
			all = append(all, r.Scenario)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s Set) of(name string) (runs []stored) {
	for _, r := range slices.Backward(s.all) {
		if r.Scenario == name {
			runs = append(runs, r)
		}
	}
	return runs
}

// usable returns the newest run with the given configuration whose figures may be shown. If
// configuration is "", the run may have any configuration.
func usable(runs []stored, configuration string) (stored, bool) {
	i := slices.IndexFunc(runs, func(r stored) bool {
		shown := r.Verdict == result.Pass || r.Verdict == result.Regressed || r.Verdict == result.Inconclusive
		return shown && (configuration == "" || r.configuration == configuration)
	})
	if i < 0 {
		return stored{}, false
	}
	return runs[i], true
}

// pair compares the newest runs of a scenario with equal configurations, or returns why there are
// none.
func (c *Comparison) pair(a, b []stored) (why string) {
	switch {
	case len(b) == 0:
		return "only " + c.A.Folder + " has it"
	case len(a) == 0:
		return "only " + c.B.Folder + " has it"
	}
	for _, side := range []struct {
		runs   []stored
		folder string
	}{{a, c.A.Folder}, {b, c.B.Folder}} {
		if _, has := usable(side.runs, ""); !has {
			return fmt.Sprintf("%s has no run of it whose figures count: %s is %s", side.folder, side.runs[0].Run, side.runs[0].Verdict)
		}
	}
	for _, ofA := range a {
		runA, is := usable(a, ofA.configuration)
		runB, has := usable(b, ofA.configuration)
		if is && has {
			return c.add(runA, runB)
		}
	}
	newA, _ := usable(a, "")
	newB, _ := usable(b, "")
	return fmt.Sprintf("the configurations differ (%s and %s): %s", newA.configuration, newB.configuration, differences(newA, newB))
}

// differencesMax is the number of differing settings that are named.
const differencesMax = 3

func differences(a, b stored) string {
	var texts []string
	all := scenario.Differences(&a.Manifest.Scenario, &b.Manifest.Scenario)
	for _, d := range all[:min(len(all), differencesMax)] {
		texts = append(texts, d.String())
	}
	switch more := len(all) - len(texts); {
	case len(texts) == 0:
		return "in its sweeps or scripts"
	case more > 0:
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// add compares all points of two runs, or returns why they have nothing in common.
func (c *Comparison) add(a, b stored) (why string) {
	before := len(c.Scenarios)
	if len(a.Points) == 0 {
		c.addPoint(a, b, result.Point{Metrics: a.Metrics}, result.Point{Metrics: b.Metrics})
	}
	for _, ofA := range a.Points {
		for _, ofB := range b.Points {
			if ofA.Name == ofB.Name {
				c.addPoint(a, b, ofA, ofB)
			}
		}
	}
	if len(c.Scenarios) == before {
		return "the two runs have no figure in common"
	}
	return ""
}

func (c *Comparison) addPoint(a, b stored, ofA, ofB result.Point) {
	s := Scenario{
		Name: a.Scenario, Point: ofA.Name, Configuration: a.configuration, Durability: a.Manifest.Durability(),
		A: runOf(a, ofA.Number), B: runOf(b, ofB.Number),
	}
	for _, m := range metrics {
		figureA, isA := ofA.Metrics[m.name]
		figureB, isB := ofB.Metrics[m.name]
		if !isA || !isB {
			continue
		}
		compared := Metric{
			Name: m.name, Unit: figureA.Unit, A: figureA, B: figureB,
			OfBareA: ofBare(a, ofA, m.name, figureA), OfBareB: ofBare(b, ofB, m.name, figureB),
		}
		var ratio stat.Summary
		var err error
		if m.percentile > 0 {
			ratio, err = stat.PercentileRatio(cycles(b, ofB.Number), m.percentile, false, 0, cycles(a, ofA.Number))
		} else {
			ratio, err = stat.UnpairedRatio(values(a, ofA.Number, m.name), values(b, ofB.Number, m.name), 0)
		}
		if err != nil {
			compared.Why = err.Error()
		} else {
			compared.Ratio = &Ratio{ratio.Center, ratio.Low, ratio.High}
			compared.Why = strings.Join(ratio.Warnings, "; ")
		}
		s.Metrics = append(s.Metrics, compared)
	}
	if len(s.Metrics) > 0 {
		c.Scenarios = append(c.Scenarios, s)
	}
}

func ofBare(r stored, point result.Point, name string, m result.Metric) *result.Metric {
	bare := r.Bare(point)
	if bare == nil {
		return nil
	}
	share, has := bare.Share(name, m)
	if !has {
		return nil
	}
	return &share
}

func runOf(r stored, point int) Run {
	return Run{ID: r.Run, Commit: r.Manifest.Build.Revision(), Rounds: len(timed(r, point))}
}

// timed returns the timed rounds of a point, or of a run without a sweep if point is 0.
func timed(r stored, point int) (rounds []result.Round) {
	for _, round := range r.Rounds {
		if round.Timed() && round.Point == point {
			rounds = append(rounds, round)
		}
	}
	return rounds
}

func values(r stored, point int, metric string) (values []float64) {
	for _, round := range timed(r, point) {
		if v, has := round.Metrics[metric]; has {
			values = append(values, v)
		}
	}
	return values
}

func cycles(r stored, point int) (all []*hdrhistogram.Histogram) {
	for _, round := range timed(r, point) {
		for _, h := range r.histograms {
			if h.Round == round.Number && h.Cycle != nil {
				all = append(all, h.Cycle)
			}
		}
	}
	return all
}

func manifests(a, b Set) []Row {
	var rows []Row
	for _, property := range []struct {
		name string
		of   func(result.Host) string
	}{
		{"host class", result.Host.Class},
		{"CPU", func(h result.Host) string { return h.CPUModel }},
		{"CPUs", func(h result.Host) string { return number(float64(h.CPUs)) }},
		{"GOMAXPROCS of the generator", func(h result.Host) string { return number(float64(h.GOMAXPROCS)) }},
		{"memory, MB", func(h result.Host) string { return number(h.MemoryMB) }},
		{"operating system", func(h result.Host) string { return strings.TrimSpace(h.OS + " " + h.Arch) }},
		{"kernel", func(h result.Host) string { return h.Kernel }},
		{"virtualisation", func(h result.Host) string { return h.Virtualisation }},
		{"container", func(h result.Host) string { return h.Container }},
		{"cgroup CPU limit", func(h result.Host) string { return h.CgroupCPUMax }},
		{"cgroup memory limit", func(h result.Host) string { return h.CgroupMemoryMax }},
		{"file system of the data", func(h result.Host) string { return h.Filesystem }},
	} {
		rows = append(rows, Row{property.name, distinct(a, property.of), distinct(b, property.of)})
	}
	rows = append(rows, conditions(a, b)...)
	return append(rows, serverHosts(a, b)...)
}

// serverHosts returns the properties of server hosts other than the generator's, if any run had
// such servers.
func serverHosts(a, b Set) (rows []Row) {
	for _, property := range []struct {
		name string
		of   func(result.ServerHost) string
	}{
		{"servers' CPU", func(h result.ServerHost) string { return h.CPUModel }},
		{"servers' CPUs", func(h result.ServerHost) string { return number(float64(h.CPUs)) }},
		{"servers' memory, MB", func(h result.ServerHost) string { return number(h.MemoryMB) }},
		{"servers' kernel", func(h result.ServerHost) string { return h.Kernel }},
		{"servers' virtualisation", func(h result.ServerHost) string { return h.Virtualisation }},
		{"servers' file system of the data", func(h result.ServerHost) string { return h.Filesystem }},
		{"servers' clock source", func(h result.ServerHost) string { return h.ClockSource }},
	} {
		row := Row{property.name, ofServers(a, property.of), ofServers(b, property.of)}
		if len(row.A)+len(row.B) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// ofServers returns the distinct values of a property of the servers' hosts in the runs of a side,
// or nil if all servers ran on the generator's host.
func ofServers(s Set, of func(result.ServerHost) string) (values []string) {
	for _, r := range s.all {
		for _, h := range r.Manifest.Hosts {
			if v := cmp.Or(of(h), unknown); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
	}
	return values
}

const unknown = "unknown"

func number(v float64) string {
	if v == 0 {
		return unknown
	}
	return render.Count(int64(math.Round(v)))
}

func distinct(s Set, of func(result.Host) string) (values []string) {
	for _, r := range s.all {
		if v := cmp.Or(of(r.Manifest.Host), unknown); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

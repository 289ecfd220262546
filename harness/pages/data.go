package pages

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// dataset is the stored data of one scenario: a run, a soak, a serial budget or a comparison. A
// comparison has neither a manifest nor figures that pages can cite.
type dataset struct {
	name     string // name of its folder and its page
	run      *result.Result
	soak     *result.Soak
	serial   *result.Serial
	manifest result.Manifest
	started  time.Time
	verdict  result.Verdict // by the checked-in limits
	why      string         // reason for a verdict that is not pass
}

type value struct {
	of       *dataset
	metric   string
	workload string       // "" for all workloads together
	point    result.Point // number 0 without a sweep
	result.Metric
	durability string
	rounds     string // "7 × 10 s"
	anchor     string // anchor of its section on the page of the data
	// single marks a value without an interval: of one round, or of all windows of a soak together.
	// sum marks a sum over all rounds.
	single, sum bool
}

// worsePercent is appended to the name of a soak's figure to form the metric of the figure's drift.
const worsePercent = "_worse_percent"

// store reads and caches the data that pages cite.
type store struct {
	reports string
	limits  *gate.Baselines
	read    map[string]*dataset
	// replaced caches, by the name of the data, the earlier runs that it replaced.
	replaced map[string][]*dataset
	names    []string // names of all data
}

func newStore(limits *gate.Baselines, reports string) (*store, error) {
	entries, err := os.ReadDir(filepath.Join(reports, "data"))
	if err != nil {
		return nil, fmt.Errorf("look for the data of pages: %w", err)
	}
	s := &store{reports: reports, limits: limits, read: map[string]*dataset{}, replaced: map[string][]*dataset{}}
	for _, e := range entries {
		if e.IsDir() {
			s.names = append(s.names, e.Name())
		}
	}
	return s, nil
}

// get returns the data of a scenario that a page cites. Figures of a run with an unbalanced ledger
// cannot be cited. The servers of a driver program are independent: figures of the points whose
// ledgers balance can be cited.
func (s *store) get(name string) (*dataset, error) {
	if !slices.Contains(s.names, name) {
		return nil, refuse("there is no data of %q in %s: %s", name, filepath.Join(s.reports, "data"), meant(name, s.names))
	}
	d, err := s.open(name)
	switch {
	case err != nil:
		return nil, err
	case d == nil || !d.cited():
		return nil, refuse("the data of %q are not from a run, a soak or a serial budget: pages can only cite these", name)
	case d.verdict == result.Incorrect && d.manifest.Scenario.Topology.Kind != scenario.ByProgram:
		return nil, refuse("the ledger of %q does not balance, so no figure of it is published: measure it again", name)
	}
	return d, nil
}

// open reads and judges the data of a scenario. It returns nil if they are not a result.
func (s *store) open(name string) (*dataset, error) {
	if d := s.read[name]; d != nil {
		return d, nil
	}
	stored, err := report.Open(s.limits, filepath.Join(s.reports, "data", name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := &dataset{name: name, run: stored.Run, soak: stored.Soak, serial: stored.Serial, verdict: stored.Judged.Verdict, why: report.Why(stored.Judged)}
	switch {
	case d.soak != nil:
		d.manifest, d.started = d.soak.Manifest, d.soak.Started
	case d.serial != nil:
		d.manifest, d.started = d.serial.Manifest, d.serial.Started
	case d.run != nil:
		if err := s.addIntervals(d); err != nil {
			return nil, err
		}
		gate.DescribeBound(d.run)
		d.manifest, d.started = d.run.Manifest, d.run.Started
	}
	s.read[name] = d
	return d, nil
}

// addIntervals adds the intervals of a judged run's percentiles if its histograms are stored.
func (s *store) addIntervals(d *dataset) error {
	r, _, err := result.Read(filepath.Join(s.reports, "data", d.name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Verdict, r.Reasons = d.run.Verdict, d.run.Reasons
	d.run = r
	return nil
}

func (d *dataset) cited() bool { return d.run != nil || d.soak != nil || d.serial != nil }

func (d *dataset) described() string {
	switch {
	case d.soak != nil:
		return fmt.Sprintf("%q is a soak", d.name)
	case d.serial != nil:
		return fmt.Sprintf("%q is a serial budget", d.name)
	}
	return fmt.Sprintf("%q is a run", d.name)
}

func (d *dataset) value(metric string, at []string) (*value, error) {
	switch {
	case d.soak != nil:
		return d.ofSoak(metric, at)
	case d.serial != nil:
		return d.ofSerial(metric, at)
	}
	point, err := d.point(at)
	if err != nil {
		return nil, err
	}
	metrics, of, workload := point.Metrics, fmt.Sprintf("%q", d.name), ""
	if before, after, one := strings.Cut(metric, "."); one {
		workload, metric = before, after
		if metrics, err = d.ofWorkload(point, workload); err != nil {
			return nil, err
		}
		of = fmt.Sprintf("the workload %q of %q", workload, d.name)
	}
	m, has := metrics[metric]
	if !has {
		return nil, refuse("%s has no metric %q%s: %s", of, metric, placed(point), meant(metric, slices.Sorted(maps.Keys(metrics))))
	}
	spec, known := result.Lookup(metric)
	if !known {
		return nil, refuse("%q is a metric of another version of Prony: measure %q again", metric, d.name)
	}
	v := &value{
		of: d, metric: metric, workload: workload, point: *point, Metric: m, durability: d.manifest.Durability(), rounds: report.Windows(d.run, point.Number),
		anchor: doc.Anchor(report.SummaryHeading(d.run)), single: m.N == 1 && !spec.Bounded, sum: spec.Sum(),
	}
	if point.Number > 0 {
		v.durability, v.anchor = report.PointDurability(d.run, *point), doc.Anchor(report.PointHeading(d.run, *point))
	}
	if workload != "" {
		v.anchor = doc.Anchor(report.WorkloadsHeading(d.run))
	}
	return v, nil
}

func (d *dataset) ofWorkload(point *result.Point, name string) (map[string]result.Metric, error) {
	var names []string
	for _, w := range point.Workloads {
		if w.Name == name {
			return w.Metrics, nil
		}
		names = append(names, w.Name)
	}
	if len(names) == 0 {
		return nil, refuse("%q has no workload %q with separate figures: leave out %q", d.name, name, name+".")
	}
	return nil, refuse("%q has no workload %q: %s", d.name, name, meant(name, names))
}

// placed formats a point as the suffix of an error.
func placed(point *result.Point) string {
	if point.Number == 0 {
		return ""
	}
	return " at " + point.Name
}

// point returns the point of a run's sweep that has exactly the given values. For a run without a
// sweep it returns a point with the run's metrics.
func (d *dataset) point(at []string) (*result.Point, error) {
	points := result.PublishedPoints(d.run)
	if len(points) == 0 {
		if len(at) > 0 {
			return nil, refuse("%q has no sweep: leave out %s", d.name, quoted(at))
		}
		return &result.Point{Metrics: result.Published(d.run), Workloads: result.PublishedWorkloads(d.run)}, nil
	}
	var names []string
	for i := range points {
		has := settingsOf(points[i])
		if slices.Equal(slices.Sorted(slices.Values(has)), slices.Sorted(slices.Values(at))) {
			return &points[i], nil
		}
		names = append(names, quoted(has))
	}
	if len(at) == 0 {
		return nil, refuse("%q has a sweep: name one of its points: %s", d.name, strings.Join(names, ", or "))
	}
	return nil, refuse("%q has no point %s: name one completely: %s", d.name, quoted(at), strings.Join(names, ", or "))
}

func settingsOf(point result.Point) (all []string) {
	for _, v := range point.Values {
		all = append(all, v.Settings()...)
	}
	return all
}

// ofSoak returns a figure of a soak: a metric of all judged windows, the drift of a figure, or a
// count of tasks.
func (d *dataset) ofSoak(metric string, at []string) (*value, error) {
	if len(at) > 0 {
		return nil, refuse("%q is a soak, and has no sweep: leave out %s", d.name, quoted(at))
	}
	summary, drift, ledger := report.SoakHeadings(d.soak)
	values := map[string]*value{}
	add := func(name, heading string, m result.Metric, single, sum bool) {
		values[name] = &value{
			of: d, metric: name, Metric: m, durability: d.manifest.Durability(), rounds: report.SoakWindows(d.soak), anchor: doc.Anchor(heading), single: single, sum: sum,
		}
	}
	for name, v := range d.soak.Totals.Metrics {
		spec, _ := result.Lookup(name)
		add(name, summary, result.Metric{Median: v, Low: v, High: v, N: d.soak.Totals.Judged, Unit: spec.Unit}, true, false)
	}
	for _, f := range d.soak.Drifts {
		if f.WorsePercent != nil {
			add(f.Figure+worsePercent, drift, result.Metric{Median: *f.WorsePercent, Low: *f.LowPercent, High: *f.HighPercent, N: f.Values, Unit: "%"}, false, false)
		}
	}
	l := d.soak.Totals.Ledger
	for name, count := range map[string]uint64{
		"enqueued": l.Enqueued, "completed": l.Completed, "lost": l.Lost, "duplicated": l.Duplicated, "corrupted": l.Corrupted,
	} {
		add(name, ledger, result.Metric{Median: float64(count), Low: float64(count), High: float64(count), N: d.soak.Totals.Windows, Unit: "tasks"}, false, true)
	}
	v := values[metric]
	if v == nil {
		return nil, refuse("the soak %q has no metric %q: %s", d.name, metric, meant(metric, slices.Sorted(maps.Keys(values))))
	}
	return v, nil
}

const offered = 40

func meant(name string, known []string) string {
	if near := hclfile.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	var alike []string
	for _, k := range known {
		if strings.Contains(k, name) || strings.Contains(name, k) {
			alike = append(alike, k)
		}
	}
	if len(alike) == 0 {
		alike = known
	}
	text := "there are " + strings.Join(alike[:min(len(alike), offered)], ", ")
	if len(alike) > offered {
		text += fmt.Sprintf(" and %d more", len(alike)-offered)
	}
	return text
}

func quoted(values []string) string {
	var all []string
	for _, v := range values {
		all = append(all, fmt.Sprintf("%q", v))
	}
	return strings.Join(all, " ")
}

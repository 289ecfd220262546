package soak

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// eventsMax bounds the number of events in a result.
	eventsMax = 50
	// spanLongest and spanShare determine the length of the spans at the beginning and at the end
	// that are compared. A span is an hour, or a tenth of the soak if the soak is shorter than ten
	// hours.
	spanLongest = time.Hour
	spanShare   = 10
)

// figureOf describes a figure: its unit, and whether a fall is worse than a rise.
type figureOf struct {
	name, unit  string
	fallIsWorse bool
}

var figures = []figureOf{
	{scenario.SoakRate, "1/s", true},
	{scenario.SoakLatency, "ms", false},
	{scenario.SoakServerCPU, "us", false},
	{scenario.SoakRSS, "MB", false},
	{scenario.SoakFDs, "files", false},
	{scenario.SoakGoroutines, "goroutines", false},
	{scenario.SoakDisk, "MB", false},
	{scenario.SoakHarnessRSS, "MB", false},
}

// account returns the result of the soak so far, with its verdict.
func (f *folder) account(s *scenario.Scenario, measure time.Duration) (*result.Soak, error) {
	soak := &result.Soak{
		Version: result.SoakVersion, Scenario: s.Name, Title: s.Title, Manifest: f.state.Manifest, Started: f.state.Started,
		WindowS: s.Phases.Window.Seconds(), ForS: measure.Seconds(), Points: []result.SoakPoint{},
		Totals: result.SoakTotals{
			Starts: f.state.Starts, DeletedWindows: f.state.DeletedWindows, DeletedBytes: f.state.DeletedBytes, Metrics: map[string]float64{},
		},
	}
	var all Figures
	var recovered recoveries
	latency := result.NewHistogram()
	t := &soak.Totals
	for i := range f.rows.all {
		row := &f.rows.all[i]
		soak.MeasuredS += row.MeasuredS
		t.Windows += row.Windows
		t.Judged += row.Judged.Windows
		t.Invalid += row.Invalid
		t.WithFaults += row.Faults
		t.Cut += row.Cut
		t.Incorrect += row.Incorrect
		t.ServerEnds += row.ServerEnds
		t.Cycles += row.Cycles
		addLedger(&t.Ledger, row.Ledger)
		for _, reason := range row.Reasons {
			if len(t.IncorrectReasons) < rowReasonsMax {
				t.IncorrectReasons = append(t.IncorrectReasons, reason)
			}
		}
		soak.Events = append(soak.Events, row.Events...)
		soak.EventsOmitted += row.EventsOmitted
		all.Seconds += row.Judged.Seconds
		all.Cycles += row.Judged.Cycles
		all.ServerCPUS += row.Judged.ServerCPUS
		all.ClientCPUS += row.Judged.ClientCPUS
		if err := errors.Join(row.Judged.Latency.mergeInto(latency), recovered.add(row.Recoveries)); err != nil {
			return nil, err
		}
		point := result.SoakPoint{AtS: soak.MeasuredS, Windows: row.Windows, Judged: row.Judged.Windows, Faults: row.Faults}
		if row.Judged.Windows > 0 {
			point.Figures, point.Processes = row.Judged.values(row.p99Ms), row.Judged.means()
		}
		soak.Points = append(soak.Points, point)
	}
	if over := len(soak.Events) - eventsMax; over > 0 {
		soak.Events = slices.Clone(soak.Events[over:])
		soak.EventsOmitted += over
	}
	metrics(t.Metrics, all, latency)
	var err error
	if t.Recovery, err = recovered.account(); err != nil {
		return nil, err
	}
	series, err := f.series(s)
	if err != nil {
		return nil, err
	}
	gate.JudgeSoak(soak, series, time.Duration(f.rows.width)*s.Phases.Window)
	if series == nil {
		soak.Warnings = append(soak.Warnings, "every window has faults, so the drift of the figures is not judged")
	}
	if t.DeletedWindows > 0 {
		soak.Warnings = append(soak.Warnings, fmt.Sprintf("the results of %d single windows were deleted to bound the size of the folder; the rows have their figures", t.DeletedWindows))
	}
	return soak, nil
}

func metrics(into map[string]float64, all Figures, latency *hdrhistogram.Histogram) {
	if all.Seconds == 0 {
		return
	}
	cycles := float64(all.Cycles)
	into[result.CyclesPerS] = cycles / all.Seconds
	into[result.ServerCPUUsPerCycle] = 1e6 * all.ServerCPUS / cycles
	into[result.ClientCPUUsPerCycle] = 1e6 * all.ClientCPUS / cycles
	for _, p := range []struct {
		suffix     string
		percentile float64
	}{{"_p50", 50}, {"_p99", 99}, {"_p999", 99.9}} {
		into[result.CycleLatencyMs+p.suffix] = float64(latency.ValueAtPercentile(p.percentile)) / float64(time.Millisecond)
	}
}

// series returns the figures whose drift is judged. It returns nil if every window has faults. Each
// row contributes one value to each figure. The last row is omitted if it is incomplete and has
// less than half as many windows as the others.
func (f *folder) series(s *scenario.Scenario) ([]gate.SoakSeries, error) {
	if s.Soak.FaultsEvery == 1 {
		return nil, nil
	}
	var judged []*Row
	seconds := 0.0
	for i := range f.rows.all {
		row := &f.rows.all[i]
		if row.Judged.Windows == 0 || 2*row.Windows < f.rows.width {
			continue
		}
		judged = append(judged, row)
		seconds += row.Judged.Seconds
	}
	span := min(spanLongest, time.Duration(seconds/spanShare*float64(time.Second)))
	first, err := over(judged, span)
	if err != nil {
		return nil, err
	}
	backwards := slices.Clone(judged)
	slices.Reverse(backwards)
	last, err := over(backwards, span)
	if err != nil {
		return nil, err
	}
	all := make([]gate.SoakSeries, len(figures))
	for i, of := range figures {
		all[i] = gate.SoakSeries{
			Figure: of.name, Unit: of.unit, FallIsWorse: of.fallIsWorse, First: first[of.name], Last: last[of.name], Span: span,
			LimitPercent: s.Soak.Drift(of.name),
		}
	}
	for _, row := range judged {
		values := row.Judged.values(row.p99Ms)
		for i := range all {
			all[i].Values = append(all[i].Values, values[all[i].Figure])
		}
	}
	return all, nil
}

// over returns the figures over the first rows whose total time is at least span.
func over(rows []*Row, span time.Duration) (map[string]float64, error) {
	var sum Figures
	for _, row := range rows {
		if err := sum.add(row.Judged); err != nil {
			return nil, err
		}
		if sum.Seconds >= span.Seconds() {
			break
		}
	}
	latency := result.NewHistogram()
	if err := sum.Latency.mergeInto(latency); err != nil {
		return nil, err
	}
	return sum.values(p99Ms(latency)), nil
}

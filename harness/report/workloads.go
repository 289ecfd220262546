package report

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// workloadColumns are the columns of the table of concurrent workloads.
var workloadColumns = columns{
	{">cycles/s", result.CyclesPerS},
	{">offered/s", result.OfferedPerS},
	{">enqueue p99, ms", result.EnqueueLatencyMs + "_p99"},
	{">cycle p50, ms", result.CycleLatencyMs + "_p50"},
	{">cycle p99, ms", result.CycleLatencyMs + "_p99"},
	{">cycle p99.9, ms", result.CycleLatencyMs + "_p999"},
	{">unfinished", result.Unfinished},
	{">unsent", result.Unsent},
	{">dropped", result.Dropped},
	{">slip p99, ms", result.SlipMs + "_p99"},
	{">tenant fairness", result.TenantFairness},
	{">reads/s", result.ReadsPerS},
	{">read p99, ms", result.ReadLatencyMs + "_p99"},
	{">lists/s", result.ListsPerS},
	{">list p99, ms", result.ListLatencyMs + "_p99"},
	{">stats/s", result.StatsPerS},
	{">stats p99, ms", result.StatsLatencyMs + "_p99"},
	{">awaits/s", result.AwaitsPerS},
	{">await p99, ms", result.AwaitLatencyMs + "_p99"},
	{">extend p99, ms", result.ExtendLatencyMs + "_p99"},
	{">late p99, ms", result.LateMs + "_p99"},
}

// workloadsSection shows the workloads of a mixed scenario side by side, in total and for each
// round.
func workloadsSection(p *doc.Document, r *result.Result) {
	if !mixed(r) {
		return
	}
	p.Heading(2, "%s", WorkloadsHeading(r))
	p.Paragraph("The workloads ran at the same time, with one window, on separate tenants. Figures elsewhere on this page without a workload's name cover" +
		" all workloads. Brackets contain the 95 %% confidence interval over the rounds, or the range if there are fewer than six rounds.")
	workloadTable(p, result.PublishedWorkloads(r))
	for _, point := range result.PublishedPoints(r) {
		if len(point.Workloads) > 0 {
			p.Heading(3, "%s", doc.Code(point.Name))
			workloadTable(p, point.Workloads)
		}
	}
	var metrics []map[string]float64
	for _, round := range r.Rounds {
		for _, w := range round.Workloads {
			metrics = append(metrics, w.Metrics)
		}
	}
	columns := present(workloadColumns, metrics)
	header := []string{">round", "workload", ">cycles"}
	header = append(header, columns.headers()...)
	var rows [][]string
	for _, round := range r.Rounds {
		for _, w := range round.Workloads {
			row := []string{runs.RoundName(r, round), doc.Code(w.Name), render.Count(w.Cycles)}
			rows = append(rows, append(row, cells(columns, w.Metrics, render.Number)...))
		}
	}
	p.Table(header, rows)
}

func mixed(r *result.Result) bool {
	for _, round := range r.Rounds {
		if len(round.Workloads) > 0 {
			return true
		}
	}
	return false
}

// workloadTable shows the metrics of workloads over all timed rounds, with their spread.
func workloadTable(p *doc.Document, workloads []result.Workload) {
	if len(workloads) == 0 {
		return
	}
	var metrics []map[string]result.Metric
	for _, w := range workloads {
		metrics = append(metrics, w.Metrics)
	}
	columns := present(workloadColumns, metrics)
	header := []string{"workload", ">n"}
	header = append(header, columns.headers()...)
	var rows [][]string
	for _, w := range workloads {
		row := []string{doc.Code(w.Name), strconv.Itoa(w.Metrics[result.CyclesPerS].N)}
		rows = append(rows, append(row, cells(columns, w.Metrics, interval)...))
	}
	p.Table(header, rows)
}

// workloadCurves returns the cycle latency of each workload of a mixed scenario, at each point of a
// sweep, or nothing if there are too many to distinguish.
func workloadCurves(r *result.Result, hists []result.RoundHistograms) (all []curve, err error) {
	points := r.Points
	if len(points) == 0 {
		points = []result.Point{{}}
	}
	workloads := r.Manifest.Scenario.Workloads
	if !mixed(r) || len(workloads)*len(points) > len(plots.Lines) {
		return nil, nil
	}
	for _, w := range workloads {
		for _, point := range points {
			name := w.Name
			if point.Name != "" {
				name += ", " + point.Name
			}
			merged, err := mergeWorkload(r.Rounds, hists, point.Number, w.Name)
			if err != nil && !errors.Is(err, plots.ErrNothing) {
				return nil, fmt.Errorf("latency of workload %s: %w", name, err)
			}
			all = append(all, curve{name, plots.Lines[len(all)], merged.Cycle})
		}
	}
	return all, nil
}

func workloadsPlot(r *result.Result, hists []result.RoundHistograms) ([]byte, error) {
	curves, err := workloadCurves(r, hists)
	if err != nil {
		return nil, err
	}
	return curvesPlot(r, "cycle latency of each workload", curves)
}

// mergeWorkload merges the histograms of one workload over the timed rounds of a point, as
// mergeTimed does for all workloads.
func mergeWorkload(rounds []result.Round, hists []result.RoundHistograms, point int, name string) (result.Histograms, error) {
	var own []result.RoundHistograms
	for _, h := range hists {
		for _, w := range h.Workloads {
			if w.Name == name && w.Cycle != nil {
				own = append(own, result.RoundHistograms{Round: h.Round, Histograms: w.Histograms})
			}
		}
	}
	return mergeTimed(rounds, own, point)
}

// ofWorkload names the workload of a sentence if there are several.
func ofWorkload(w *scenario.Workload, several bool, sentence string) string {
	if !several {
		return sentence
	}
	return fmt.Sprintf("Workload %s: %s", doc.Code(w.Name), sentence)
}

// arrivalsText formats the arrivals of a ramp or of bursts in the syntax of the scenario's file.
func arrivalsText(a scenario.Arrivals) string {
	from, to, over, every := rateText(a.Rate), rateText(a.To), hclfile.FormatDuration(a.Over), hclfile.FormatDuration(a.Every)
	switch a.Kind {
	case scenario.Ramp:
		return fmt.Sprintf("ramp(%s)", strings.Join([]string{from, to, over}, ", "))
	case scenario.Stages:
		return a.String()
	case scenario.Burst:
		return fmt.Sprintf("burst(%s)", strings.Join([]string{from, to, every, over}, ", "))
	}
	return ""
}

// rateText formats a rate, or its part of the peak.
func rateText(r scenario.Rate) string {
	if r.OfPeak > 0 {
		return unlessZero(r.OfPeak) + " of the peak"
	}
	if r.PerSecond == 0 {
		return "0/s"
	}
	return render.Digits(r.PerSecond, 3) + "/s"
}

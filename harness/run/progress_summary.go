package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// summaryMetrics are the metrics that the table at the end of a run shows, if the run has them. All
// other metrics are only in the result.
var summaryMetrics = []string{
	result.CyclesPerS, result.EnqueuesPerS, result.CPUUsPerCycle, result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle, result.ServerCPUCores,
	result.EnqueueLatencyMs + "_p99", result.CycleLatencyMs + "_p50", result.CycleLatencyMs + "_p99", result.CycleLatencyMs + "_p999",
	result.ServerRSSMBMax, result.StorageSetsPerCycle, result.WrittenBytesPerCycle,
	result.StorageFsyncsPerCycle, result.ServerAllocsPerCycle, result.RaftEntriesPerCycle,
	result.OfferedPerS, result.Unfinished, result.Unsent, result.Dropped, result.SlipMs + "_p99",
	result.ReadsPerS, result.ReadLatencyMs + "_p50", result.ReadLatencyMs + "_p99", result.ReadFoundRatio, result.ReadsDropped,
	result.ListsPerS, result.ListLatencyMs + "_p50", result.ListLatencyMs + "_p99", result.ListsDropped,
	result.StatsPerS, result.StatsLatencyMs + "_p50", result.StatsLatencyMs + "_p99", result.StatsDropped,
	result.AwaitsPerS, result.AwaitLatencyMs + "_p50", result.AwaitLatencyMs + "_p99", result.AwaitEndedRatio, result.AwaitsDropped,
	result.LateMs + "_p50", result.LateMs + "_p99", result.ExtendLatencyMs + "_p99",
	result.FillTasksPerS, result.DrainCyclesPerS, result.RestartFirstClaimS, result.SteadyRateRatio,
	result.FaultFirstAckMsMedian, result.FaultFirstAckMsMax, result.FaultRecoveryMsMedian, result.FaultRecoveryMsMax,
	result.FaultsNotRecovered, result.FaultLevelRatio, result.FailedCalls,
	result.Lost, result.Duplicated, result.Corrupted, result.ReadMismatches,
}

// pointMetrics are the columns of the table of a sweep.
var pointMetrics = []struct{ header, metric string }{
	{"enqueues/s", result.EnqueuesPerS},
	{"cost", result.RateCost},
	{"CPU us/cycle", result.CPUUsPerCycle},
	{"p50 ms", result.CycleLatencyMs + "_p50"},
	{"p99 ms", result.CycleLatencyMs + "_p99"},
}

// done writes the table of figures, the warnings, the reasons for a verdict other than pass, and
// the verdict. It omits the verdict if the caller will judge later.
func (p *progress) done(r *result.Result) {
	if p.place == nil {
		p.figures(r)
	}
	if r.Bound != nil && r.Verdict != result.Incorrect {
		p.line("  %s", r.Bound.Sentence)
	}
	p.some(r.Scenario+": warning", "warnings", r.Warnings)
	p.some(r.Scenario, "reasons", r.Reasons)
	verdict := string(r.Verdict)
	if p.judgedLater {
		verdict = "measured"
	}
	end := fmt.Sprintf("%s: %s", r.Scenario, verdict)
	if figure := headline(r); figure != "" {
		end += ": " + figure
	}
	if r.Verdict != result.Misconfigured {
		end += ", durability " + p.durability()
	}
	p.line("%s", end)
}

func (p *progress) figures(r *result.Result) {
	if len(r.Points) > 0 && r.Verdict != result.Incorrect {
		p.table(pointRows(r))
	}
	for _, w := range r.Workloads {
		if r.Verdict != result.Incorrect {
			p.line("  workload %s", w.Name)
			p.table(metricRows(w.Metrics))
		}
	}
	p.table(metricRows(result.Published(r)))
}

// someMax bounds the number of warnings, and of reasons, that are shown at the end. The result
// contains all of them.
const someMax = 6

func (p *progress) some(of, noun string, sentences []string) {
	for _, s := range sentences[:min(len(sentences), someMax)] {
		p.line("%s: %s", of, s)
	}
	if left := len(sentences) - someMax; left > 0 {
		p.line("%s: and %d more %s in the result", of, left, noun)
	}
}

// headline returns a text with the main figure of a run, or "" if the run has no figure to publish.
func headline(r *result.Result) string {
	metrics := result.Published(r)
	if m, ok := metrics[result.CyclesPerS]; ok {
		return figureText(m, "", "cycles/s")
	}
	if m, ok := metrics[result.EnqueuesPerS]; ok {
		return figureText(m, "", "enqueues/s")
	}
	if m, ok := metrics[result.ServerCPUCores]; ok {
		return figureText(m, "server ", "CPUs")
	}
	return ""
}

func figureText(m result.Metric, of, unit string) string {
	return fmt.Sprintf("%s%s %s (%s to %s over %s)", of, render.Number(m.Median), unit, render.Number(m.Low), render.Number(m.High), render.Plural(m.N, "round"))
}

// metricRows returns the table of metrics, with the header as its first row. It returns nil if the
// table would only say that no task is at fault.
func metricRows(metrics map[string]result.Metric) [][]string {
	rows := [][]string{{"metric", ">value", ">low", ">high", "unit", "what they are"}}
	telling := false
	for _, name := range summaryMetrics {
		m, found := metrics[name]
		if !found {
			continue
		}
		spec, _ := result.Lookup(name)
		telling = telling || !spec.OfLedger() || m.Median > 0
		low, high := render.Number(m.Low), render.Number(m.High)
		rows = append(rows, []string{name, render.Number(m.Median), low, high, m.Unit, spread(spec, m)})
	}
	if !telling {
		return nil
	}
	return rows
}

// spread describes the meaning of the three numbers of a metric.
func spread(spec result.Spec, m result.Metric) string {
	switch {
	case spec.OfLedger():
		return "sum; lowest and highest round"
	case m.Resampled:
		return fmt.Sprintf("of %s together; 95 %% interval", render.Plural(m.N, "round"))
	case spec.Merged():
		return fmt.Sprintf("of %s together; lowest and highest", render.Plural(m.N, "round"))
	default:
		return "median; " + result.Spread(m.N, "round")
	}
}

// pointRows returns the table of a sweep's points, with the header as its first row.
func pointRows(r *result.Result) [][]string {
	header := []string{"point", ">cycles/s", ">low", ">high", ">rounds"}
	columns := slices.Clone(pointMetrics)
	columns = slices.DeleteFunc(columns, func(c struct{ header, metric string }) bool {
		return !slices.ContainsFunc(r.Points, func(p result.Point) bool { _, found := p.Metrics[c.metric]; return found })
	})
	for _, c := range columns {
		header = append(header, ">"+c.header)
	}
	rows := [][]string{header}
	for _, point := range r.Points {
		row := []string{point.Name, "-", "-", "-", "-"}
		if m, found := point.Metrics[result.CyclesPerS]; found {
			row = []string{point.Name, render.Number(m.Median), render.Number(m.Low), render.Number(m.High), fmt.Sprint(m.N)}
		}
		for _, c := range columns {
			cell := "-"
			if m, found := point.Metrics[c.metric]; found {
				cell = render.Number(m.Median)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

func (p *progress) table(rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.line("%s", strings.TrimSuffix(render.Table{Header: rows[0], Rows: rows[1:]}.Text("  "), "\n"))
}

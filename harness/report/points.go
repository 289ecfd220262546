package report

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// partColumns are metrics that only some scenarios have.
var partColumns = slices.Concat(columns{
	{">enqueues/s", result.EnqueuesPerS},
	{">server switches/cycle", result.ServerSwitchesPerCycle},
	{">client switches/cycle", result.ClientSwitchesPerCycle},
	{">server, CPUs", result.ServerCPUCores},
	{">sets/cycle", result.StorageSetsPerCycle},
	{">gets/cycle", result.StorageGetsPerCycle},
	{">deletes/cycle", result.StorageDeletesPerCycle},
	{">set, bytes/cycle", result.StorageSetBytesPerCycle},
	{">written, bytes/cycle", result.WrittenBytesPerCycle},
	{">fsyncs/cycle", result.StorageFsyncsPerCycle},
	{">server allocations/cycle", result.ServerAllocsPerCycle},
	{">server allocated, bytes/cycle", result.ServerAllocBytesPerCycle},
	{">entries/cycle", result.RaftEntriesPerCycle},
	{">entry, bytes", result.RaftEntryBytesMean},
	{">log, bytes/cycle", result.RaftLogBytesPerCycle},
	{">append, ms", result.RaftAppendMsMean},
	{">commit, ms", result.RaftCommitMsMean},
	{">elections", result.RaftElections},
}, getColumns, otherReadColumns, columns{
	{">extend p99, ms", result.ExtendLatencyMs + "_p99"},
	{">late p50, ms", result.LateMs + "_p50"},
	{">late p99, ms", result.LateMs + "_p99"},
	{">tenant fairness", result.TenantFairness},
	{">fewest ÷ mean", result.TenantCyclesMinRatio},
	{">last tenth ÷ second", result.SteadyRateRatio},
	{">disk at most, MB", result.DiskMBMax},
	{">disk at the end, MB", result.DiskMBEnd},
})

// getColumns are the metrics of reads of single tasks.
var getColumns = columns{
	{">reads/s", result.ReadsPerS},
	{">read p50, ms", result.ReadLatencyMs + "_p50"},
	{">read p99, ms", result.ReadLatencyMs + "_p99"},
}

// otherReadColumns are the metrics of the other kinds of reads.
var otherReadColumns = columns{
	{">lists/s", result.ListsPerS},
	{">list p50, ms", result.ListLatencyMs + "_p50"},
	{">list p99, ms", result.ListLatencyMs + "_p99"},
	{">stats/s", result.StatsPerS},
	{">stats p50, ms", result.StatsLatencyMs + "_p50"},
	{">stats p99, ms", result.StatsLatencyMs + "_p99"},
	{">awaits/s", result.AwaitsPerS},
	{">await p50, ms", result.AwaitLatencyMs + "_p50"},
	{">await p99, ms", result.AwaitLatencyMs + "_p99"},
}

// pointColumns are the metrics for the comparison of points.
var pointColumns = columns{
	{">enqueues/s", result.EnqueuesPerS},
	{">CPU, µs/cycle", result.CPUUsPerCycle},
	{">server, µs/cycle", result.ServerCPUUsPerCycle},
	{">client, µs/cycle", result.ClientCPUUsPerCycle},
	{">server switches/cycle", result.ServerSwitchesPerCycle},
	{">client switches/cycle", result.ClientSwitchesPerCycle},
	{">cycle p50, ms", result.CycleLatencyMs + "_p50"},
	{">cycle p99, ms", result.CycleLatencyMs + "_p99"},
	{">server, CPUs", result.ServerCPUCores},
	{">server memory, MB", result.ServerRSSMBMax},
	{">sets/cycle", result.StorageSetsPerCycle},
	{">gets/cycle", result.StorageGetsPerCycle},
	{">set, bytes/cycle", result.StorageSetBytesPerCycle},
	{">written, bytes/cycle", result.WrittenBytesPerCycle},
	{">fsyncs/cycle", result.StorageFsyncsPerCycle},
	{">server allocations/cycle", result.ServerAllocsPerCycle},
	{">server allocated, bytes/cycle", result.ServerAllocBytesPerCycle},
	{">entries/cycle", result.RaftEntriesPerCycle},
	{">entry, bytes", result.RaftEntryBytesMean},
	{">log, bytes/cycle", result.RaftLogBytesPerCycle},
	{">append, ms", result.RaftAppendMsMean},
	{">commit, ms", result.RaftCommitMsMean},
	{">offered/s", result.OfferedPerS},
	{">unfinished", result.Unfinished},
	{">slip p99, ms", result.SlipMs + "_p99"},
	{">tenant fairness", result.TenantFairness},
	{">fewest ÷ mean", result.TenantCyclesMinRatio},
	{">drain, cycles/s", result.DrainCyclesPerS},
	{">first claim, s", result.RestartFirstClaimS},
	{">turns above 2 ms", result.ShardTurnsAbove2MsRatio},
	{">turn at most, ms", result.ShardTurnMsMax},
	{">unsynced at most, tasks", result.UnsyncedTasksMax},
	{">unsynced at most, ms", result.UnsyncedMsMax},
	{">last tenth ÷ second", result.SteadyRateRatio},
}

// PointDurability returns the durability of one point, which may be swept.
func PointDurability(r *result.Result, point result.Point) string {
	for _, v := range point.Values {
		if v.Path == "topology.durability" {
			return v.Text
		}
	}
	for _, t := range r.Manifest.Targets {
		if t.Point == point.Number {
			return t.Guarantee
		}
	}
	return r.Manifest.Durability()
}

// pointsSection shows the points of a sweep side by side.
func pointsSection(p *doc.Document, r *result.Result) {
	if len(r.Points) == 0 {
		return
	}
	p.Heading(2, "Points, durability %s%s", doc.Code(r.Manifest.Durability()), runs.Polling(r))
	points := result.PublishedPoints(r)
	costs := slices.ContainsFunc(points, func(point result.Point) bool { _, found := point.Metrics[result.RateCost]; return found })
	explained := "Each row is one combination of the swept values, with its own rounds, which alternated with those of the other points." +
		" The share is that of the first row's cycles per second. " + lowAndHigh(r)
	if costs {
		first := points[0].Values[0]
		explained += fmt.Sprintf(" The cost is the ratio of the rate of the row that has %s and otherwise the same values to the rate of this row."+
			" It is computed for each turn of the points; shown is the median, with low and high as those"+
			" of the rate.", doc.Code(first.Key+"="+first.Text))
	}
	p.Paragraph("%s", explained)
	var metrics []map[string]result.Metric
	for _, point := range points {
		metrics = append(metrics, point.Metrics)
	}
	columns := present(pointColumns, metrics)
	// Points also differ in their reads.
	if others := present(otherReadColumns, metrics); len(others) > 0 {
		columns = slices.Concat(columns, present(getColumns, metrics), others)
	}
	var header []string
	for _, v := range points[0].Values {
		header = append(header, doc.Code(v.Key))
	}
	header = append(header, ">n", ">cycles/s", ">low", ">high", ">share")
	compared := slices.ContainsFunc(points, func(point result.Point) bool { return r.Bare(point) != nil })
	if compared {
		header = append(header, ofBareHeader)
	}
	if costs {
		header = append(header, ">cost", ">cost, low", ">cost, high")
	}
	header = append(header, columns.headers()...)
	first := points[0].Metrics[result.CyclesPerS].Median
	var rows [][]string
	for _, point := range points {
		var row []string
		for _, v := range point.Values {
			row = append(row, doc.Code(v.Text))
		}
		m, found := point.Metrics[result.CyclesPerS]
		if found {
			row = append(row, fmt.Sprint(m.N), render.Number(m.Median), render.Number(m.Low), render.Number(m.High), runs.Share(m.Median, first))
		} else {
			row = append(row, doc.None, doc.None, doc.None, doc.None, doc.None)
		}
		if compared {
			row = append(row, ofBare(r.Bare(point), result.CyclesPerS, m))
		}
		if costs {
			row = append(row, costCells(point)...)
		}
		row = append(row, cells(columns, point.Metrics, median)...)
		rows = append(rows, row)
	}
	p.Table(header, rows)
}

// lowAndHigh explains the low and high rates of points.
func lowAndHigh(r *result.Result) string {
	for _, point := range r.Points {
		if m, found := point.Metrics[result.CyclesPerS]; found {
			return "Cycles per second are the median of the timed rounds of a point; low and high are the " + result.Spread(m.N, "round") + "."
		}
	}
	return ""
}

func costCells(point result.Point) []string {
	m, found := point.Metrics[result.RateCost]
	if !found {
		return []string{doc.None, doc.None, doc.None}
	}
	return []string{render.Number(m.Median), render.Number(m.Low), render.Number(m.High)}
}

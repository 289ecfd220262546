package report

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// signalColumns are the signals of the host in the order of the page. A nil value could not be
// read.
var signalColumns = []struct {
	header string
	of     func(*result.Signals) *float64
}{
	{">steal, %", func(s *result.Signals) *float64 { return s.StealPercent }},
	{">foreign CPU, %", func(s *result.Signals) *float64 { return s.ForeignCPUPercent }},
	{">waiting for CPU, %", func(s *result.Signals) *float64 { return s.PressureCPUPercent }},
	{">for I/O, %", func(s *result.Signals) *float64 { return s.PressureIOPercent }},
	{">for memory, %", func(s *result.Signals) *float64 { return s.PressureMemoryPercent }},
	{">group: for CPU, %", func(s *result.Signals) *float64 { return s.GroupPressureCPUPercent }},
	{">for I/O, %", func(s *result.Signals) *float64 { return s.GroupPressureIOPercent }},
	{">for memory, %", func(s *result.Signals) *float64 { return s.GroupPressureMemoryPercent }},
	{">throttled, ms", func(s *result.Signals) *float64 { return s.ThrottledMs }},
	{">throttled, %", func(s *result.Signals) *float64 { return s.ThrottledPercent }},
	{">clock step, ms", func(s *result.Signals) *float64 { return s.ClockStepMs }},
	{">CPU, MHz, lowest", func(s *result.Signals) *float64 { return s.FrequencyMHzMin }},
	{">highest", func(s *result.Signals) *float64 { return s.FrequencyMHzMax }},
	{">drop, %", func(s *result.Signals) *float64 { return s.FrequencyDropPercent }},
}

// hostSection shows the host signals of each window, and whether the load was steady.
func hostSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		if round.Signals == nil {
			continue
		}
		row := []string{runs.RoundName(r, round)}
		for _, c := range signalColumns {
			row = append(row, orUnknownValue(c.of(round.Signals)))
		}
		rows = append(rows, append(row, fmt.Sprint(round.Signals.Samples)))
	}
	if len(rows) > 0 {
		p.Heading(2, "Host in the windows, durability %s", doc.Code(r.Manifest.Durability()))
		p.Paragraph("The state of the machine in each window. Steal is the share of all CPUs' time that the hypervisor took, and foreign" +
			" CPU the time of processes outside of this run. Waiting is the share of the window in which some task of the host" +
			" waited for the resource (PSI); the group is the control group of the generator and the servers. Throttled is the time for" +
			" which its quota stopped its tasks. A clock step is the difference between wall time and monotonic time, and the drop" +
			" is the largest drop of the highest CPU frequency. Unreadable signals are unknown: they do not count as good.")
		header := []string{">round"}
		for _, c := range signalColumns {
			header = append(header, c.header)
		}
		header = append(header, ">samples")
		p.Table(header, rows)
	}
	warmupTable(p, r)
	balanceTable(p, r)
}

func orUnknownValue(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return render.Number(*v)
}

// warmupTable shows the judgement of the warm-up.
func warmupTable(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		w := round.Warmup
		if w == nil {
			continue
		}
		steady := "yes"
		if !w.Stationary {
			steady = "no"
		}
		before := "unknown"
		if w.WarmupTrendPercent != nil {
			before = render.Number(*w.WarmupTrendPercent)
		}
		rows = append(rows, []string{runs.RoundName(r, round), render.Number(w.WarmupS), before, render.Number(w.TrendPercent), render.Number(w.PValue), steady, doc.Escape(w.Reason)})
	}
	runs.Section(p, r, "Warm-up",
		"Whether the load was steady in the window, judged by its cycles per second in equal parts of the window and not only by the"+
			" duration of the warm-up. The trend is the rise of the rate over the window relative to its median (the slope of Theil and Sen), and p the"+
			" probability of such a trend by chance alone (Mann and Kendall). The warm-up's own trend is that of its last part.",
		[]string{">round", ">warm-up, s", ">its trend, %", ">trend, %", ">p", "steady", "why not"}, rows)
}

// balanceTable shows whether workers kept up with producers.
func balanceTable(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		for _, b := range round.Balances {
			rows = append(rows, []string{
				runs.RoundName(r, round), doc.Code(b.Workload), render.Number(b.Held), render.Number(b.Outstanding), render.Number(b.Growth),
				render.Number(b.GrowthPercent()), render.Number(b.PValue),
			})
		}
	}
	runs.Section(p, r, "Balance of producers and workers",
		"Whether the workers of a closed loop kept up with its producers. Held is the number of tasks that both can hold at the same time. Outstanding is"+
			" the median, over equal parts of the window, of the tasks that were sent and not completed: tasks above held wait in queues, and"+
			" cycle latency includes that wait. Growth is the rise of the outstanding tasks over the window (the slope of Theil and Sen), also in"+
			" percent of held, and p the probability of such a trend by chance alone (Mann and Kendall).",
		[]string{">round", "workload", ">held, tasks", ">outstanding, tasks", ">growth, tasks", ">growth, %", ">p"}, rows)
}

// processesSection shows the resources of each process in the window of a round.
func processesSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		for _, of := range round.Processes {
			figures := []struct{ name, value string }{
				{"cpu_cores", render.Number(of.CPUCores)},
				{"rss_mb_max", render.Number(of.RSSMBMax)},
				{"fds_max", fmt.Sprint(of.FDsMax)},
				{"goroutines_max", fmt.Sprint(of.Goroutines)},
				{"gc_pause_ms_p99", render.Number(of.GCPauseMsP99)},
				{"gc_pause_ms_max", render.Number(of.GCPauseMsMax)},
				{"gc_cycles", render.Count(of.GCCycles)},
				{"allocated_bytes", runs.PerCycle(float64(of.AllocatedBytes), round.Cycles)},
				{"allocated_objects", runs.PerCycle(float64(of.AllocatedObjects), round.Cycles)},
			}
			row := []string{runs.RoundName(r, round), doc.Code(of.Name)}
			for _, f := range figures {
				if slices.Contains(of.Unknown, f.name) {
					f.value = "unknown"
				}
				row = append(row, f.value)
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return
	}
	p.Heading(2, "Processes, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("The resources of each process in a window: the load generator, and the server or the nodes. Memory is resident memory," +
		" and the pauses are those in which the garbage collector stops the whole process.")
	if ofScript(r) {
		p.Paragraph("The generator is the k6 process. Its Go runtime is not visible from outside.")
	}
	p.Table([]string{
		">round", "process", ">CPUs", ">memory, MB", ">files open", ">goroutines", ">GC pause p99, ms", ">GC pause max, ms",
		">collections", ">allocated, bytes/cycle", ">objects/cycle",
	}, rows)
}

package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

// signalColumns are the signals of the host in the order of the page. A value of nil could not be read.
var signalColumns = []struct {
	header string
	of     func(*result.Signals) *float64
}{
	{">steal, %", func(s *result.Signals) *float64 { return s.StealPercent }},
	{">foreign CPU, %", func(s *result.Signals) *float64 { return s.ForeignCPUPercent }},
	{">waiting for CPU, %", func(s *result.Signals) *float64 { return s.PressureCPUPercent }},
	{">for I/O, %", func(s *result.Signals) *float64 { return s.PressureIOPercent }},
	{">for memory, %", func(s *result.Signals) *float64 { return s.PressureMemoryPercent }},
	{">throttled, ms", func(s *result.Signals) *float64 { return s.ThrottledMs }},
	{">clock step, ms", func(s *result.Signals) *float64 { return s.ClockStepMs }},
	{">CPU, MHz, lowest", func(s *result.Signals) *float64 { return s.FrequencyMHzMin }},
	{">highest", func(s *result.Signals) *float64 { return s.FrequencyMHzMax }},
}

// hostSection shows what the host did in each window, and whether the load was steady in it.
func hostSection(p *page, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		if round.Signals == nil {
			continue
		}
		row := []string{roundName(r, round)}
		for _, c := range signalColumns {
			row = append(row, orUnknownValue(c.of(round.Signals)))
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		p.heading(2, "Host in the windows, durability %s", code(r.Manifest.Durability()))
		p.paragraph("What the machine did while a round was measured. Steal is what the hypervisor took of all CPUs' time, and foreign" +
			" CPU what processes used that are not of this run. Waiting is the share of the window in which some task of the host" +
			" waited for the resource (PSI). Throttled is for how long the control group's quota stopped its tasks, and a clock step" +
			" by how much wall time and monotonic time went apart. What could not be read is unknown: it is not taken for good.")
		header := []string{">round"}
		for _, c := range signalColumns {
			header = append(header, c.header)
		}
		p.table(header, rows)
	}
	warmupTable(p, r)
}

func orUnknownValue(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return number(*v)
}

// warmupTable shows how the warm-up was judged.
func warmupTable(p *page, r *result.Result) {
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
		rows = append(rows, []string{roundName(r, round), steady, number(w.TrendPercent), text(w.Reason)})
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Warm-up, durability %s", code(r.Manifest.Durability()))
	p.paragraph("Whether the load was steady in the window, judged by its cycles per second in equal parts of time and not by the" +
		" clock alone. The trend is by how much the rate rose over the window, of its own size.")
	p.table([]string{">round", "steady", ">trend, %", "why not"}, rows)
}

// processesSection shows what each process of a round used of the host in its window.
func processesSection(p *page, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		for _, of := range round.Processes {
			row := []string{
				roundName(r, round), code(of.Name), number(of.CPUCores), number(of.RSSMBMax), fmt.Sprint(of.FDsMax), fmt.Sprint(of.Goroutines),
				number(of.GCPauseMsP99), number(of.GCPauseMsMax), count(of.GCCycles),
			}
			row = append(row, perCycle(float64(of.AllocatedBytes), round.Cycles), perCycle(float64(of.AllocatedObjects), round.Cycles))
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Processes, durability %s", code(r.Manifest.Durability()))
	p.paragraph("What each process used in a window: the load generator, and the server or the nodes. Memory is resident memory," +
		" and the pauses are those in which the garbage collector stops the whole process.")
	p.table([]string{
		">round", "process", ">CPUs", ">memory, MB", ">files open", ">goroutines", ">GC pause p99, ms", ">GC pause max, ms",
		">collections", ">allocated, bytes/cycle", ">objects/cycle",
	}, rows)
}

func perCycle(v float64, cycles uint64) string {
	if cycles == 0 {
		return "–"
	}
	return number(v / float64(cycles))
}

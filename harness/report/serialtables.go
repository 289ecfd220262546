package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
)

// serialPoints shows the points side by side.
func serialPoints(p *doc.Document, s *result.Serial) {
	var rows [][]string
	for _, point := range s.Points {
		row := []string{point.Waits, fmt.Sprint(point.ServerProcs), fmt.Sprint(point.GeneratorProcs), fmt.Sprint(point.Connections), fmt.Sprint(point.InFlight)}
		if point.Skipped != "" {
			row = append(row, "skipped", "", "", "")
		} else {
			b := point.Budget
			row = append(row, render.Nanoseconds(b.WorkNs), render.Nanoseconds(b.LowNs)+" to "+render.Nanoseconds(b.HighNs),
				render.Number(point.Unloaded.RequestsPerS), render.PercentTo(point.AtBudget.Efficiency, 1))
		}
		rows = append(rows, row)
	}
	p.Table([]string{
		"waits", ">server procs", ">generator procs", ">connections", ">in flight", ">budget", ">95 % interval", ">requests/s", ">efficiency",
	}, rows)
}

// serialWindows shows the figures of a point without work and at the budget.
func serialWindows(p *doc.Document, point *result.SerialPoint) {
	var rows [][]string
	row := func(name string, of func(w *result.SerialWindow) string) {
		rows = append(rows, []string{name, of(point.Unloaded), of(point.AtBudget)})
	}
	ns := func(name string, of func(w *result.SerialWindow) float64) {
		row(name, func(w *result.SerialWindow) string { return render.Nanoseconds(of(w)) })
	}
	row("requests/s", func(w *result.SerialWindow) string { return render.Number(w.RequestsPerS) })
	ns("work", func(w *result.SerialWindow) float64 { return w.WorkNs })
	ns("serial CPU: the deciding goroutine", func(w *result.SerialWindow) float64 { return w.Profile.SerialNs })
	ns("time of the stage decide", func(w *result.SerialWindow) float64 { return w.DecideNs })
	ns("server CPU", func(w *result.SerialWindow) float64 { return w.ServerCPUNs })
	ns("generator CPU", func(w *result.SerialWindow) float64 { return w.GeneratorCPUNs })
	row("efficiency: work of server CPU", func(w *result.SerialWindow) string { return render.PercentTo(w.Efficiency, 1) })
	row("idle CPU of the host", func(w *result.SerialWindow) string {
		if w.IdlePercent == nil {
			return "unknown"
		}
		return render.PercentTo(*w.IdlePercent/100, 1)
	})
	row("voluntary switches", func(w *result.SerialWindow) string { return fmt.Sprintf("%.4f", w.VoluntarySwitches) })
	row("involuntary switches", func(w *result.SerialWindow) string { return fmt.Sprintf("%.4f", w.InvoluntarySwitches) })
	ns("CPU in futex calls", func(w *result.SerialWindow) float64 { return w.Profile.FutexNs })
	ns("CPU in yields", func(w *result.SerialWindow) float64 { return w.Profile.YieldNs })
	for i, stage := range point.Unloaded.Profile.Stages {
		ns("CPU of "+stage.Name, func(w *result.SerialWindow) float64 { return w.Profile.Stages[i].Ns })
	}
	row("longest response", func(w *result.SerialWindow) string { return fmt.Sprintf("%.2f ms", w.LongestMs) })
	row("number of requests", func(w *result.SerialWindow) string { return render.Count(w.LongestOf) })
	row("samples of the profile", func(w *result.SerialWindow) string { return render.Count(w.Profile.Samples) })
	p.Table([]string{"for each request", ">without work", ">at the budget"}, rows)
}

func serialNotes(point *result.SerialPoint) []string {
	b := point.Budget
	notes := []string{fmt.Sprintf("from %s of slices in %.0f s, with noise of %s in one pair; a step of work is %s ns",
		render.Plural(b.Pairs, "pair"), b.Seconds, render.PercentTo(b.PairNoise, 1), render.Number(b.NsPerStep))}
	if b.Unsettled != "" {
		notes = append(notes, "the interval is wider than intended: "+b.Unsettled)
	}
	return notes
}

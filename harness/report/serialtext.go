package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// serialCaveats explain what a serial budget does not show.
const serialCaveats = `A budget applies to the pair of server and generator on this host: if the generator or the CPUs bound the rate, it includes the resulting idle time.
No-op requests store nothing: commits and the work of the state machine would use a part of the budget.
The CPU profile has one sample per 10 ms of CPU time; futex and yield are parts of the stages.
`

// SerialText renders a serial budget as plain text. It ends with a newline.
func SerialText(s *result.Serial) string {
	var b strings.Builder
	fmt.Fprintf(&b, "serial budget: the largest work per request that keeps %s of the rate without work\n", render.PercentTo(s.KeptShare, 0))
	fmt.Fprintf(&b, "  commit %s, %s, %s\n\n", s.Manifest.Build.Revision(), s.Manifest.Host.CPUModel, render.Plural(s.Manifest.Host.CPUs, "CPU"))
	b.WriteString(serialPoints(s).Text("  "))
	b.WriteString("\n")
	for _, answer := range serialAnswers(s) {
		b.WriteString(answer + "\n")
	}
	for i := range s.Points {
		serialDetail(&b, &s.Points[i])
	}
	b.WriteString("\n" + serialCaveats)
	return b.String()
}

// serialPoints returns a table with a row for each point.
func serialPoints(s *result.Serial) render.Table {
	t := render.Table{Header: []string{
		"waits", ">server procs", ">generator procs", ">connections", ">in flight", ">budget", ">95 % interval", ">requests/s", ">efficiency",
	}}
	for _, p := range s.Points {
		row := []string{p.Waits, fmt.Sprint(p.ServerProcs), fmt.Sprint(p.GeneratorProcs), fmt.Sprint(p.Connections), fmt.Sprint(p.InFlight)}
		if p.Skipped != "" {
			row = append(row, "skipped", "", "", "")
		} else {
			b := p.Budget
			row = append(row, render.Nanoseconds(b.WorkNs), render.Nanoseconds(b.LowNs)+" to "+render.Nanoseconds(b.HighNs),
				render.Number(p.Unloaded.RequestsPerS), render.PercentTo(p.AtBudget.Efficiency, 1))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// serialDetail writes the measurements of a point's windows.
func serialDetail(b *strings.Builder, p *result.SerialPoint) {
	fmt.Fprintf(b, "\n%s\n", p.Name())
	if p.Skipped != "" {
		fmt.Fprintf(b, "  skipped: %s\n", p.Skipped)
		return
	}
	b.WriteString(serialWindows(p).Text("  "))
	for _, note := range serialNotes(p) {
		fmt.Fprintf(b, "  %s\n", note)
	}
}

// serialWindows returns the figures of a point without work and at the budget.
func serialWindows(p *result.SerialPoint) render.Table {
	t := render.Table{Header: []string{"for each request", ">without work", ">at the budget"}}
	row := func(name string, of func(w *result.SerialWindow) string) {
		t.Rows = append(t.Rows, []string{name, of(p.Unloaded), of(p.AtBudget)})
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
	for i, stage := range p.Unloaded.Profile.Stages {
		ns("CPU of "+stage.Name, func(w *result.SerialWindow) float64 { return w.Profile.Stages[i].Ns })
	}
	row("longest response", func(w *result.SerialWindow) string { return fmt.Sprintf("%.2f ms", w.LongestMs) })
	row("number of requests", func(w *result.SerialWindow) string { return render.Count(w.LongestOf) })
	row("samples of the profile", func(w *result.SerialWindow) string { return render.Count(w.Profile.Samples) })
	return t
}

func serialNotes(p *result.SerialPoint) []string {
	b := p.Budget
	notes := []string{fmt.Sprintf("from %s of slices in %.0f s, with noise of %s in one pair; a step of work is %s ns",
		render.Plural(b.Pairs, "pair"), b.Seconds, render.PercentTo(b.PairNoise, 1), render.Number(b.NsPerStep))}
	if b.Unsettled != "" {
		notes = append(notes, "the interval is wider than intended: "+b.Unsettled)
	}
	return notes
}

package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// arrivalsSection shows the outcome of an open load's tasks.
func arrivalsSection(p *doc.Document, r *result.Result) {
	several := mixed(r)
	var rows [][]string
	for _, round := range r.Rounds {
		if !several && round.Arrivals != nil {
			rows = append(rows, arrivalsRow(runs.RoundName(r, round), "", round.Arrivals, round.Metrics))
		}
		for _, w := range round.Workloads {
			if w.Arrivals != nil {
				rows = append(rows, arrivalsRow(runs.RoundName(r, round), w.Name, w.Arrivals, w.Metrics))
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	p.Heading(2, "Arrivals, durability %s", doc.Code(r.Manifest.Durability()))
	for _, w := range r.Manifest.Scenario.Workloads {
		if arrivals := arrivalsText(w.Arrivals); arrivals != "" {
			p.Paragraph("%s", ofWorkload(&w, several, fmt.Sprintf("Tasks are due by %s: the rate below is the mean over the window.", doc.Code(arrivals))))
		}
	}
	p.Paragraph("The load is open: tasks are due at a rate from the window's start, independent of earlier tasks, and" +
		" the latencies of enqueues and cycles count from the due time of a task. They include each task that was due in the window:" +
		" a task that was unfinished at its end, unsent, dropped because too many were in flight, or refused counts with the rest" +
		" of the window after its due time. Held are tasks that were sent late because every producer had a call in progress. Slip is" +
		" the avoidable delay of the generator in sending a task; the service time is only that of the enqueue call.")
	header := []string{
		">round", ">due/s", ">peak, cycles/s", ">due", ">finished", ">unfinished", ">unsent", ">dropped", ">refused", ">held",
		">slip p99, ms", ">slip max, ms", ">service p99, ms",
	}
	if several {
		header = append([]string{">round", "workload"}, header[1:]...)
	}
	p.Table(header, rows)
}

// arrivalsRow is the outcome of the tasks of one round, or of one of its workloads.
func arrivalsRow(round, workload string, a *result.Arrivals, metrics map[string]float64) []string {
	peak := doc.None
	if a.PeakPerSecond > 0 {
		peak = render.Number(a.PeakPerSecond)
	}
	row := []string{round}
	if workload != "" {
		row = append(row, doc.Code(workload))
	}
	return append(row, render.Number(a.PerSecond), peak, render.Count(a.Scheduled), render.Count(a.Finished), render.Count(a.Unfinished),
		render.Count(a.Unsent), render.Count(a.Dropped), render.Count(a.Refused), render.Count(a.Held),
		runs.CellOf(metrics, result.SlipMs+"_p99"), runs.CellOf(metrics, result.SlipMs+"_max"), runs.CellOf(metrics, result.ServiceLatencyMs+"_p99"))
}

// backlogSection shows the backlog after the windows.
func backlogSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		b := round.Backlog
		if b == nil {
			continue
		}
		first := doc.None
		if b.FirstClaimS > 0 {
			first = render.Number(b.FirstClaimS)
		}
		small := doc.None
		if b.ReferenceDrainS > 0 {
			small = render.Number(float64(b.ReferenceTasks) / b.ReferenceDrainS)
		}
		restart := doc.Code(b.Restart)
		if c := b.ColdCache; c != nil {
			restart += fmt.Sprintf(", cold: %s of %s MB cached", render.Number(c.LeftMB), render.Number(c.DataMB))
		}
		rows = append(rows, []string{
			runs.RoundName(r, round), render.Count(b.Tasks), render.Number(b.FillS), render.Number(b.RSSMBFillMax), restart, first,
			render.Count(b.Cycles), render.Number(b.DrainS), render.Number(b.RSSMBDrainMax),
			runs.Cell(round, result.DrainCyclesPerS), runs.Cell(round, result.CyclesPerS), runs.Cell(round, result.DrainRatio),
			small, runs.Cell(round, result.DrainSmallRatio),
		})
	}
	runs.Section(p, r, "Backlog",
		"The queues stay nearly empty in the window. After it, tasks are enqueued without a claim, the server is ended and"+
			" started again if the table says so, and the backlog is drained. The time to the first claim counts from the start"+
			" of the new process to the first response with a task. A cycle of the drain is a claim and a completion; a cycle of"+
			" the window also has an enqueue, so equal rates are not equal work. A small backlog, if there is one, was filled and"+
			" drained first: the same work on a store with little other data.",
		[]string{
			">round", ">tasks", ">fill, s", ">memory while filling, MB", "restart", ">first claim, s", ">drained", ">drain, s",
			">memory while draining, MB", ">drain, cycles/s", ">window, cycles/s", ">drain ÷ window",
			">small backlog, cycles/s", ">drain ÷ small",
		}, rows)
}

package report

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// arrivalsSection shows what became of the tasks of an open load.
func arrivalsSection(p *page, r *result.Result) {
	several := mixed(r)
	var rows [][]string
	for _, round := range r.Rounds {
		if !several && round.Arrivals != nil {
			rows = append(rows, arrivalsRow(roundName(r, round), "", round.Arrivals, round.Metrics))
		}
		for _, w := range round.Workloads {
			if w.Arrivals != nil {
				rows = append(rows, arrivalsRow(roundName(r, round), w.Name, w.Arrivals, w.Metrics))
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Arrivals, durability %s", code(r.Manifest.Durability()))
	for _, w := range r.Manifest.Scenario.Workloads {
		if arrivals := arrivalsText(w.Arrivals); arrivals != "" {
			p.paragraph("%s", ofWorkload(&w, several, fmt.Sprintf("Tasks are due by %s: the rate below is the mean over the window.", code(arrivals))))
		}
	}
	p.paragraph("The load is open: tasks are due at a rate from the window's start on, whatever becomes of those before them, and" +
		" the latencies of enqueues and cycles count from when a task was due. Each task that was due inside the window is in" +
		" them: one that was unfinished at its end, unsent, dropped since too many were in flight, or refused, with what was left" +
		" of the window when it was due. Held are tasks that were sent late since every producer had a call under way. Slip is" +
		" how much later than it could the generator sent a task; the service time is that of the call of enqueue alone.")
	header := []string{
		">round", ">due/s", ">peak, cycles/s", ">due", ">finished", ">unfinished", ">unsent", ">dropped", ">refused", ">held",
		">slip p99, ms", ">slip max, ms", ">service p99, ms",
	}
	if several {
		header = append([]string{">round", "workload"}, header[1:]...)
	}
	p.table(header, rows)
}

// arrivalsRow is what became of the tasks of one round, or of one workload of it.
func arrivalsRow(round, workload string, a *result.Arrivals, metrics map[string]float64) []string {
	peak := "–"
	if a.PeakPerSecond > 0 {
		peak = render.Number(a.PeakPerSecond)
	}
	row := []string{round}
	if workload != "" {
		row = append(row, code(workload))
	}
	return append(row, render.Number(a.PerSecond), peak, render.Count(a.Scheduled), render.Count(a.Finished), render.Count(a.Unfinished),
		render.Count(a.Unsent), render.Count(a.Dropped), render.Count(a.Refused), render.Count(a.Held),
		cellOf(metrics, result.SlipMs+"_p99"), cellOf(metrics, result.SlipMs+"_max"), cellOf(metrics, result.ServiceLatencyMs+"_p99"))
}

// backlogSection shows what the rounds did after their windows.
func backlogSection(p *page, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		b := round.Backlog
		if b == nil {
			continue
		}
		first := "–"
		if b.FirstClaimS > 0 {
			first = render.Number(b.FirstClaimS)
		}
		small := "–"
		if b.ReferenceDrainS > 0 {
			small = render.Number(float64(b.ReferenceTasks) / b.ReferenceDrainS)
		}
		restart := code(b.Restart)
		if c := b.ColdCache; c != nil {
			restart += fmt.Sprintf(", cold: %s of %s MB cached", render.Number(c.LeftMB), render.Number(c.DataMB))
		}
		rows = append(rows, []string{
			roundName(r, round), render.Count(b.Tasks), render.Number(b.FillS), render.Number(b.RSSMBFillMax), restart, first,
			render.Count(b.Cycles), render.Number(b.DrainS), render.Number(b.RSSMBDrainMax),
			cell(round, result.DrainCyclesPerS), cell(round, result.CyclesPerS), cell(round, result.DrainRatio),
			small, cell(round, result.DrainSmallRatio),
		})
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Backlog, durability %s", code(r.Manifest.Durability()))
	p.paragraph("After the window, whose queues stay nearly empty, tasks are enqueued that nobody claims, the server is ended and" +
		" started again where the table says how, and the backlog is drained. The time to the first claim counts from the start" +
		" of the new process to the first answer that carried a task. A cycle of the drain is a claim and a completion; one of" +
		" the window is an enqueue too, so equal rates are not equal work. A small backlog, where there is one, was filled and" +
		" drained first: the same work on a store that holds little else.")
	p.table([]string{
		">round", ">tasks", ">fill, s", ">memory while filling, MB", "restart", ">first claim, s", ">drained", ">drain, s",
		">memory while draining, MB", ">drain, cycles/s", ">window, cycles/s", ">drain ÷ window",
		">small backlog, cycles/s", ">drain ÷ small",
	}, rows)
}

// cell is a metric of a round in a table.
func cell(round result.Round, metric string) string { return cellOf(round.Metrics, metric) }

func cellOf(metrics map[string]float64, metric string) string {
	v, found := metrics[metric]
	if !found {
		return none
	}
	return render.Number(v)
}

package report

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// lossWindowSection shows what a loss of power would have taken in each timed round.
func lossWindowSection(p *page, r *result.Result) {
	var rows [][]string
	for _, round := range timedRounds(r) {
		if l := round.LossWindow; l != nil {
			rows = append(rows, []string{
				roundName(r, round), render.Count(l.Tasks.Count), render.Whole(l.Tasks.P99), render.Whole(l.Tasks.Max), render.Number(l.Ms.P99), render.Number(l.Ms.Max),
			})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Window of loss, durability %s", code(r.Manifest.Durability()))
	p.paragraph("A loss of power takes what a server acknowledged and no fsync of its log covers: so many enqueues and completions of tasks, and" +
		" the oldest of these acknowledgements is so old. The figures are the peaks, taken just before each fsync, and what was left at the" +
		" window's end. A peak is that of one shard and is known to a bucket of the servers' histogram: it was at most the figure, unless the" +
		" figure is the histogram's last bound. p99 is the bound that 99 of 100 peaks were not above. Of a cluster the leader of a shard" +
		" counts, with the fsyncs of its own log.")
	p.table([]string{">round", ">peaks", ">p99, tasks", ">at most, tasks", ">p99, ms", ">at most, ms"}, rows)
}

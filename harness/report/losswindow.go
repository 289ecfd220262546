package report

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// lossWindowSection shows how much a loss of power could have lost in each timed round.
func lossWindowSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range runs.Timed(r) {
		if l := round.LossWindow; l != nil {
			rows = append(rows, []string{
				runs.RoundName(r, round), render.Count(l.Tasks.Count), render.Whole(l.Tasks.P99), render.Whole(l.Tasks.Max), render.Number(l.Ms.P99), render.Number(l.Ms.Max),
			})
		}
	}
	runs.Section(p, r, "Window of loss",
		"A loss of power loses everything that a server acknowledged after the last fsync of its log: a number of enqueues and completions of tasks, the"+
			" oldest of them acknowledged some time ago. The figures are the peaks of both, taken just before each fsync and at the"+
			" window's end. A peak is that of one shard. It is only known up to a bucket of the servers' histogram: it was at most the figure, unless the"+
			" figure is the histogram's last bound. p99 is a bound of 99 of 100 peaks. In a cluster the leader of a shard"+
			" counts, with the fsyncs of its own log.",
		[]string{">round", ">peaks", ">p99, tasks", ">at most, tasks", ">p99, ms", ">at most, ms"}, rows)
}

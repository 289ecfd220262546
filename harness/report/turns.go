package report

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// turnsSection shows the durations of the turns of the shards' deciding goroutines in each timed
// round, and their work.
func turnsSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range runs.Timed(r) {
		if t := round.Turns; t != nil {
			rows = append(rows, []string{runs.RoundName(r, round), render.Count(t.Count), render.Count(t.Above2Ms), render.Number(t.MsMax), render.Count(t.ItemsMax)})
		}
	}
	runs.Section(p, r, "Turns of the shards",
		"The servers time each turn of a shard's deciding goroutine. During a turn the shard accepts no other command, so a command waits for"+
			" the current turn. The times are wall-clock times, including other processes of the host and the garbage collector."+
			" The longest turn is only known up to a bucket of the servers' histogram, whose bounds double: no turn was longer than the figure,"+
			" unless the figure is the histogram's last bound. Items are tasks, leases, waiters and queues, and count from the server's start.",
		[]string{">round", ">turns", ">above 2 ms", ">longest, at most ms", ">most items"}, rows)
}

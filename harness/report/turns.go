package report

import (
	"github.com/pronybench/prony/harness/result"

	"github.com/pronybench/prony/harness/render"
)

// turnsSection shows how long the turns of the shards' deciding goroutines were in each timed round, and what they handled.
func turnsSection(p *page, r *result.Result) {
	var rows [][]string
	for _, round := range timedRounds(r) {
		if t := round.Turns; t != nil {
			rows = append(rows, []string{roundName(r, round), render.Count(t.Count), render.Count(t.Above2Ms), render.Number(t.MsMax), render.Count(t.ItemsMax)})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, "Turns of the shards, durability %s", code(r.Manifest.Durability()))
	p.paragraph("The servers time each turn of a shard's deciding goroutine, in which the shard takes no other command: a command waits for" +
		" the turn under way. The times are by the wall clock, with what the host's other processes and the collector take of a" +
		" turn. The longest turn is known to a bucket of the servers' histogram, whose bounds double: no turn was longer than the figure," +
		" unless the figure is the histogram's last bound. Items are tasks, leases, waiters and queues, and count from the server's start.")
	p.table([]string{">round", ">turns", ">above 2 ms", ">longest, at most ms", ">most items"}, rows)
}

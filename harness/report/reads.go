package report

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// readsTable shows how the reads of each round's window were answered, of a load that reads tasks.
func readsTable(p *page, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		of := round.Reads
		if of == nil {
			continue
		}
		rows = append(rows, []string{
			roundName(r, round), render.Count(of.Answered), render.Count(of.Found), render.Count(of.Gone), render.Count(of.Foreign),
			render.Count(of.ForeignStored), render.Count(of.Wrong), render.Count(of.Dropped), render.Count(of.Refused),
		})
	}
	if len(rows) == 0 {
		return
	}
	p.paragraph("How the reads of each window were answered. Found are reads of a tenant's own task that were answered with the task, gone those of" +
		" a task whose completion had been asked for. Foreign are reads of another tenant's task, which were refused; of them those whose" +
		" task was there. Dropped reads came due while too many waited.")
	p.table([]string{
		">round", ">answered", ">found", ">gone", ">foreign", ">foreign, task there", ">wrong", ">dropped", ">refused",
	}, rows)
}

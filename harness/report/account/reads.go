package account

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// readsTable shows the outcomes of each round's reads, if the load reads tasks.
func readsTable(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		of := round.Reads
		if of == nil {
			continue
		}
		rows = append(rows, []string{
			runs.RoundName(r, round), render.Count(of.Answered), render.Count(of.Found), render.Count(of.Gone), render.Count(of.Foreign),
			render.Count(of.ForeignStored), render.Count(of.Wrong), render.Count(of.Dropped), render.Count(of.Refused),
		})
	}
	if len(rows) == 0 {
		return
	}
	p.Paragraph("Outcomes of the reads of each window. Found are reads of a tenant's own task that returned the task, gone those of" +
		" a task whose completion had been requested. Foreign are reads of another tenant's task, which were refused; \"task there\" counts those whose" +
		" task existed. Dropped reads came due while too many waited.")
	p.Table([]string{
		">round", ">answered", ">found", ">gone", ">foreign", ">foreign, task there", ">wrong", ">dropped", ">refused",
	}, rows)
}

// otherReadsTable shows the outcomes of each round's reads of other kinds than get.
func otherReadsTable(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		for _, kind := range scenario.ReadKinds() {
			of, has := round.OtherReads[kind]
			if !has {
				continue
			}
			rows = append(rows, []string{
				runs.RoundName(r, round), doc.Code(kind), render.Count(of.Answered), render.Count(of.Found), render.Count(of.Tasks), render.Count(of.Gone),
				render.Count(of.Unended), render.Count(of.Foreign), render.Count(of.ForeignStored), render.Count(of.Wrong), render.Count(of.Mismatches),
				render.Count(of.Dropped), render.Count(of.Refused),
			})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.Paragraph("Outcomes of the other kinds of reads of each window: `list` reads the tasks of a queue, `stats` its figures, and `await` waits" +
		" for the end of a task. Found are lists with tasks, figures, and waits that ended with the task's completion. Gone are lists without a" +
		" task, and waits for a task whose completion had already been requested. Unended are waits that timed out before the task ended." +
		" Foreign are reads of another tenant's queue or task, which were refused; \"task there\" counts those of a tenant with such a task. Wrong are those" +
		" of the window, and mismatches those of the whole round.")
	p.Table([]string{
		">round", "kind", ">answered", ">found", ">tasks listed", ">gone", ">unended", ">foreign", ">foreign, task there", ">wrong", ">mismatches", ">dropped", ">refused",
	}, rows)
}

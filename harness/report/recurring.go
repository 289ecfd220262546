package report

import (
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

func recurringSection(p *doc.Document, r *result.Result) {
	var rows [][]string
	for _, round := range r.Rounds {
		if of := round.Recurring; of != nil {
			rows = append(rows, []string{runs.RoundName(r, round), render.Count(of.Due), render.Count(of.Missed), render.Count(of.Twice), render.Count(of.Unscheduled)})
		}
	}
	runs.Section(p, r, "Recurring tasks",
		"The due times of all recurring tasks of a round, from before the warm-up to after the drain. Missed due times became no"+
			" task. Twice are additional tasks of a due time. Unscheduled are tasks without a due time of the schedule, or before it.",
		[]string{">round", ">due", ">missed", ">twice", ">unscheduled"}, rows)
}

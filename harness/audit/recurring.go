package audit

import (
	"fmt"

	"github.com/pronybench/prony/harness/result"
)

// Recurring returns a sentence for each kind of fault in an account of recurring tasks.
func Recurring(r *result.Recurring) (problems []string) {
	say := func(kind, format string, args ...any) {
		problems = append(problems, "recurring tasks: "+fmt.Sprintf(format, args...)+several(samplesOf(kind, r.Samples)))
	}
	if r.Missed > 0 {
		say("missed: ", "%d of %d due times became no task", r.Missed, r.Due)
	}
	if r.Twice > 0 {
		say("twice: ", "%d tasks repeat the due time of another one, of %d due times", r.Twice, r.Due)
	}
	if r.Unscheduled > 0 {
		say("unscheduled: ", "%d tasks had a due time that is not in the schedule, or came before it", r.Unscheduled)
	}
	return problems
}

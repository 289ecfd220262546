package audit

import (
	"fmt"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// Conserved compares the server's counts with a ledger and returns a sentence for each difference.
// For a task whose outcome the ledger does not know, either outcome is accepted.
func Conserved(c observe.Counts, l *result.Ledger) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	held := c.Ready + c.Leased + c.Delayed + c.Dead
	if c.Stored != held {
		say("the server reports %d held tasks, but its store has %d", held, c.Stored)
	}
	// The server does not report cancelled tasks.
	switch gone := c.Completed + held; {
	case l.Cancelled == 0 && c.Enqueued != gone:
		say("the server reports %d enqueued tasks, but %d completed and %d held are %d", c.Enqueued, c.Completed, held, gone)
	case l.Cancelled > 0 && (c.Enqueued < gone+l.Cancelled || c.Enqueued > gone+l.Cancelled+l.InDoubt):
		say("the server reports %d enqueued tasks, but %d completed, %d held and %d cancelled are %d", c.Enqueued, c.Completed, held, l.Cancelled, gone+l.Cancelled)
	}
	if c.Enqueued < l.Enqueued || c.Enqueued > l.Enqueued+l.Unknown {
		say("the server acknowledged %d enqueues, but counts %d", l.Enqueued, c.Enqueued)
	}
	if c.Completed < l.Completed || c.Completed > l.Completed+l.Unknown+l.InDoubt {
		say("the server acknowledged the completion of %d tasks, but counts %d", l.Completed, c.Completed)
	}
	if l.Failed > 0 && (c.Dead < l.Dead || c.Dead > l.Dead+l.Unknown+l.InDoubt) {
		say("the server acknowledged the last failure of %d tasks, but counts %d dead", l.Dead, c.Dead)
	}
	if left := l.Enqueued - min(l.Enqueued, l.Completed); held > left+l.Unknown {
		say("expected %d remaining tasks, but the server holds %d (%d ready, %d leased, %d delayed, %d dead)",
			left, held, c.Ready, c.Leased, c.Delayed, c.Dead)
	}
	return problems
}

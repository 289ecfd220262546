package load

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
)

// enqueue enqueues the first n tasks. If the workload has final tasks, it enqueues the first one
// before the others, which need its id. If a member is not stored, the outcome of the final task is
// unknown, because it may wait forever.
func (p *producer) enqueue(calls context.Context, to *destination, n int) error {
	if !p.cfg.Workload.FinalTasks {
		return to.session.Enqueue(calls, p.tasks[:n], p.outcomes[:n])
	}
	final, members := &p.tasks[0], p.tasks[1:n]
	final.BatchSize = len(members)
	if err := to.session.Enqueue(calls, p.tasks[:1], p.outcomes[:1]); err != nil {
		return err
	}
	if err := p.outcomes[0]; err != nil {
		for i := range members {
			p.outcomes[1+i] = fmt.Errorf("the final task was not stored: %v", err) //nolint:errorlint // the member was not sent
		}
		return nil
	}
	for i := range members {
		members[i].Batch = final.ID
	}
	if err := to.session.Enqueue(calls, members, p.outcomes[1:n]); err != nil {
		return err
	}
	for _, err := range p.outcomes[1:n] {
		if err != nil {
			p.outcomes[0] = fmt.Errorf("%w: a member of the final task was not stored: %w", driver.ErrUnknown, err)
			break
		}
	}
	return nil
}

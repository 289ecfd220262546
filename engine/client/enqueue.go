package client

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/engine/queuepb"
)

// enqueuing is the state of an enqueue while some of its tasks have no outcome yet.
type enqueuing struct {
	retries

	producer *Producer
	tasks    []Task
	ids      []string
}

// retry continues an enqueue after a first try: it repeats tasks that have no outcome and may be
// repeated. If first is nil, there was no first try, and retry sends all tasks.
func (p *Producer) retry(ctx context.Context, tasks []Task, first *call[Task], err error) ([]string, []error, error) {
	if first == nil && p.links.closing() {
		return nil, nil, ErrClosed
	}
	e := &enqueuing{retries: newRetries(len(tasks)), producer: p, tasks: tasks, ids: make([]string, len(tasks))}
	if first != nil {
		e.tried(e.trying(), first, err)
		// If ErrClosed is not wrapped, the batcher has not accepted the call.
		if err == ErrClosed && p.links.closing() { //nolint:errorlint // see above
			return nil, nil, err
		}
	}
	tries := p.links.tries()
	for len(e.open) > 0 {
		if err := tries.wait(ctx); err != nil {
			e.giveUp(err)
			break
		}
		e.try(ctx, &tries)
	}
	errs, err := e.result()
	if err != nil {
		return nil, nil, err
	}
	return e.ids, errs, nil
}

// tried records the outcome of a call. places are the indexes of the call's tasks in e.tasks.
func (e *enqueuing) tried(places []int, c *call[Task], err error) {
	for i, place := range places {
		one := err
		switch {
		case err != nil:
		case c.errs != nil && c.errs[i] != nil:
			one = c.errs[i]
		case i < len(c.ids) && c.ids[i] != "":
			e.ids[place] = c.ids[i]
		default:
			one = unknownOutcome(errNoAnswer)
		}
		e.note(place, one, e.tasks[place].repeatable())
	}
}

// try sends the tasks without an outcome to the leader that a refusal named, or else over the next
// link. If there is no link, it makes a unary call to any node.
func (e *enqueuing) try(ctx context.Context, tries *tries[*produceLink]) {
	l, ok := e.producer.links.toward(e.leaderHint)
	places := e.trying()
	tasks := make([]Task, len(places))
	for i, place := range places {
		tasks[i] = e.tasks[place]
	}
	if !ok {
		ctx, cancel := context.WithDeadline(ctx, tries.deadline)
		defer cancel()
		e.tryUnary(ctx, places, tasks)
		return
	}
	c := batchOf(l.batcher, tasks)
	defer l.batcher.keep(c)
	err := l.batcher.do(ctx, c)
	if err != nil {
		err = fmt.Errorf("%s: %w", l.at(), err)
	}
	e.tried(places, c, err)
}

func (e *enqueuing) tryUnary(ctx context.Context, places []int, tasks []Task) {
	in := &queuepb.EnqueueRequest{Tenant: e.producer.tenant, Tasks: make([]*queuepb.NewTask, len(tasks))}
	for i := range tasks {
		in.Tasks[i] = &queuepb.NewTask{}
		tasks[i].fill(in.Tasks[i])
	}
	out, err := e.producer.client.once.Enqueue(ctx, in)
	c := &call[Task]{count: len(tasks)}
	if err == nil && len(out.GetResults()) != len(tasks) {
		err = unknownOutcome(errNoAnswer)
	}
	for i, r := range out.GetResults()[:min(len(out.GetResults()), len(tasks))] {
		c.ids = append(c.ids, r.GetId())
		if r.GetError() != nil {
			if c.errs == nil {
				c.errs = make([]error, len(tasks))
			}
			c.errs[i] = itemError(r.GetError())
		}
	}
	e.tried(places, c, callOutcome(ctx, err))
}

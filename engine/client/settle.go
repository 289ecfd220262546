package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/wire"
)

// encodeSettlements adds the settlements of a call to a frame. It encodes their common fields only
// once.
func encodeSettlements(f *wire.Frame, c *call[*queuepb.Task]) error {
	same := queuepb.Settlement{
		Action: c.how.action, Result: c.how.result, Error: c.how.error, DelayMs: c.how.delayMs, LeaseMs: c.how.leaseMs,
		Permanent: c.how.permanent,
	}
	var small [64]byte
	rest := small[:]
	if n := same.SizeVT(); n > len(small) {
		rest = make([]byte, n)
	} else {
		rest = rest[:n]
	}
	if _, err := same.MarshalToSizedBufferVT(rest); err != nil {
		return err
	}
	for _, t := range c.items {
		f.Settlement(sendable(t.GetId()), t.GetToken(), rest)
	}
	return nil
}

func (w *Worker) settleOne(ctx context.Context, t *queuepb.Task, how settling) error {
	l, ok := w.linkOf(t)
	if !ok {
		return w.retrySettle(ctx, []*queuepb.Task{t}, how, nil, nil)
	}
	c := l.batcher.single(t, how.bytes())
	c.how = how
	defer l.batcher.keep(c)
	err := l.batcher.do(ctx, c)
	if err == nil && c.errs == nil {
		return nil
	}
	return w.retrySettle(ctx, []*queuepb.Task{t}, how, c, err)
}

// linkOf returns the link for the settlement of a task. This is the link that delivered the task,
// if it is still usable, or else the next link.
func (w *Worker) linkOf(t *queuepb.Task) (*workLink, bool) {
	if links := *w.links.links.Load(); len(links) == 1 {
		return links[0], true
	}
	if l := w.slots.origin(t); l != nil {
		return l, true
	}
	return w.links.pick()
}

// retrySettle continues a settlement after a first try. c is nil if there was no first try.
func (w *Worker) retrySettle(ctx context.Context, tasks []*queuepb.Task, how settling, c *call[*queuepb.Task], err error) error {
	// If ErrClosed is not wrapped, the batcher has not accepted the call.
	if c == nil && w.links.closing() || err == ErrClosed && w.links.closing() { //nolint:errorlint // see above
		return w.freed(tasks, ErrClosed)
	}
	s := w.settlement(tasks, how)
	if c != nil {
		s.tried(s.trying(), c, err)
	}
	errs, err := s.finish(ctx)
	if err == nil && errs != nil {
		return errs[0]
	}
	return err
}

func (w *Worker) freed(tasks []*queuepb.Task, err error) error {
	errs := make([]error, len(tasks))
	for i := range errs {
		errs[i] = err
	}
	w.slots.freeAll(tasks, errs)
	return err
}

func (w *Worker) settle(ctx context.Context, tasks []*queuepb.Task, how settling) ([]error, error) {
	if links := *w.links.links.Load(); len(links) == 1 {
		l := links[0]
		c := l.batcher.call()
		c.items, c.how = tasks, how
		defer l.batcher.keep(c)
		err := l.batcher.do(ctx, c)
		if err == nil && c.errs == nil {
			return nil, nil
		}
		if err == ErrClosed && w.links.closing() { //nolint:errorlint // as in retrySettle
			return nil, w.freed(tasks, err)
		}
		s := w.settlement(tasks, how)
		s.tried(s.trying(), c, err)
		return s.finish(ctx)
	}
	if w.links.closing() {
		return nil, w.freed(tasks, ErrClosed)
	}
	s := w.settlement(tasks, how)
	s.try(ctx)
	return s.finish(ctx)
}

// settlement is the state of a settlement while some of its tasks have no outcome yet.
type settlement struct {
	retries

	worker *Worker
	tasks  []*queuepb.Task
	how    settling
	before time.Time // the time at which all tries must end
}

func (w *Worker) settlement(tasks []*queuepb.Task, how settling) *settlement {
	return &settlement{retries: newRetries(len(tasks)), worker: w, tasks: tasks, how: how, before: time.Now().Add(w.client.retryMax)}
}

// tried records the outcome of a call. places are the indexes of the call's tasks in s.tasks.
func (s *settlement) tried(places []int, c *call[*queuepb.Task], err error) {
	for i, place := range places {
		one := err
		if err == nil && c.errs != nil {
			one = c.errs[i]
		}
		if s.unsure[place] && s.how.action != queuepb.SettleAction_SETTLE_ACTION_EXTEND {
			one = s.repeated(one)
		}
		s.note(place, one, true)
	}
}

// repeated converts the error of a repeated settlement. If the lease has ended, the outcome is
// unknown: either an earlier try has settled the task, or the lease has expired. If the task was
// cancelled during the lease, no try has settled it. Do not call repeated for extensions, since an
// extension does not end the lease.
func (s *settlement) repeated(err error) error {
	if !errors.Is(err, ErrStaleToken) && !errors.Is(err, ErrNotFound) || errors.Is(err, ErrCancelled) {
		return err
	}
	return &ambiguousError{fmt.Errorf("an earlier try has settled the task, or the lease has ended: %s", err.Error())}
}

// ambiguousError is an unknown outcome that another try cannot resolve.
type ambiguousError struct{ cause error }

func (e *ambiguousError) Error() string   { return ErrUnknownOutcome.Error() + ": " + e.cause.Error() }
func (e *ambiguousError) Unwrap() []error { return []error{ErrUnknownOutcome, e.cause} }

// finish makes tries until all tasks are settled or the time has passed, and then frees the slots.
func (s *settlement) finish(ctx context.Context) ([]error, error) {
	tries := s.worker.links.tries()
	for len(s.open) > 0 {
		if err := tries.wait(ctx); err != nil {
			s.giveUp(err)
			break
		}
		s.try(ctx)
	}
	if s.how.action == queuepb.SettleAction_SETTLE_ACTION_EXTEND {
		s.worker.slots.extendAll(s.tasks, s.errs, s.how.leaseMs)
	} else {
		s.worker.slots.freeAll(s.tasks, s.errs)
	}
	return s.result()
}

// try sends the tasks without an outcome. It sends them to the leader that a refusal named, or else
// over the links that delivered the tasks, or else over the next link. If there is no link, it
// makes a unary call to any node.
func (s *settlement) try(ctx context.Context) {
	near := s.leaderHint
	byLink := map[*workLink][]int{}
	for _, place := range s.trying() {
		l, ok := s.worker.links.toward(near)
		if near == "" {
			l, ok = s.worker.linkOf(s.tasks[place])
		}
		if !ok {
			l = nil
		}
		byLink[l] = append(byLink[l], place)
	}
	type under struct {
		link   *workLink
		call   *call[*queuepb.Task]
		places []int
	}
	var way []under
	for l, places := range byLink {
		if l == nil {
			continue
		}
		c := l.batcher.call()
		c.how = s.how
		c.items = s.at(places)
		c.bytes = s.how.bytes()
		if err := l.batcher.enter(ctx, c); err != nil {
			s.tried(places, c, fmt.Errorf("%s: %w", l.at(), err))
			l.batcher.keep(c)
			continue
		}
		way = append(way, under{l, c, places})
	}
	for _, u := range way {
		err := u.link.batcher.wait(ctx, u.call)
		if err != nil {
			err = fmt.Errorf("%s: %w", u.link.at(), err)
		}
		s.tried(u.places, u.call, err)
		u.link.batcher.keep(u.call)
	}
	if places := byLink[nil]; len(places) > 0 {
		ctx, cancel := context.WithDeadline(ctx, s.before)
		defer cancel()
		results, err := s.tryUnary(ctx, s.at(places))
		c := &call[*queuepb.Task]{errs: make([]error, len(places))}
		if err == nil && len(results) != len(places) {
			err = unknownOutcome(errNoAnswer)
		}
		for i, r := range results[:min(len(results), len(places))] {
			if r.GetError() != nil {
				c.errs[i] = itemError(r.GetError())
			}
		}
		s.tried(places, c, callOutcome(ctx, err))
	}
}

func (s *settlement) at(places []int) []*queuepb.Task {
	tasks := make([]*queuepb.Task, len(places))
	for i, place := range places {
		tasks[i] = s.tasks[place]
	}
	return tasks
}

func (s *settlement) tryUnary(ctx context.Context, tasks []*queuepb.Task) ([]*queuepb.SettleResult, error) {
	api, tenant := s.worker.client.once, s.worker.config.Tenant
	switch s.how.action {
	case queuepb.SettleAction_SETTLE_ACTION_COMPLETE:
		in := &queuepb.CompleteRequest{Tenant: tenant}
		for _, t := range tasks {
			in.Completions = append(in.Completions, &queuepb.Completion{Id: sendable(t.GetId()), Token: t.GetToken(), Result: s.how.result})
		}
		return results(api.Complete(ctx, in))
	case queuepb.SettleAction_SETTLE_ACTION_FAIL:
		in := &queuepb.FailRequest{Tenant: tenant}
		for _, t := range tasks {
			in.Failures = append(in.Failures, &queuepb.Failure{Id: sendable(t.GetId()), Token: t.GetToken(), Error: s.how.error, DelayMs: s.how.delayMs, Permanent: s.how.permanent})
		}
		return results(api.Fail(ctx, in))
	case queuepb.SettleAction_SETTLE_ACTION_RELEASE:
		in := &queuepb.ReleaseRequest{Tenant: tenant}
		for _, t := range tasks {
			in.Releases = append(in.Releases, &queuepb.Releasing{Id: sendable(t.GetId()), Token: t.GetToken(), DelayMs: s.how.delayMs})
		}
		return results(api.Release(ctx, in))
	default:
		in := &queuepb.ExtendRequest{Tenant: tenant}
		for _, t := range tasks {
			in.Extensions = append(in.Extensions, &queuepb.Extension{Id: sendable(t.GetId()), Token: t.GetToken(), LeaseMs: s.how.leaseMs, Note: s.how.error})
		}
		return results(api.Extend(ctx, in))
	}
}

func results[A interface {
	GetResults() []*queuepb.SettleResult
}](out A, err error) ([]*queuepb.SettleResult, error) {
	return out.GetResults(), err
}

package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

const (
	// extendMax limits the number of concurrent extensions of a worker. The session sends the
	// extensions that wait together.
	extendMax = 64
	// leaseMin is the minimum duration of an extension.
	leaseMin = time.Second
)

// keepLease extends the lease of the task at each third of its duration, until ctx ends. If the
// lease is lost, it ends the handler's context. All times are those of the monotonic clock, and the
// lease counts from the moment before the call, so the worker ends the context before the server
// ends the lease.
func (a *attempt) keepLease(ctx context.Context) {
	lease, err := a.session.LeaseLeft(a.task)
	if err != nil { // OnCancel may have been called before start noted the task
		a.leaseEnded(err)
		return
	}
	ends := time.Now().Add(lease)
	lease = max(lease, leaseMin)
	a.lease = lease
	due, sent := time.Now().Add(time.Until(ends)/3), time.Time{}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-a.noted:
			timer.Reset(untilNote(due, sent))
			continue
		case <-ctx.Done():
			return
		}
		began := time.Now()
		note := a.takeNote()
		err := a.extend(ctx, extension(lease, note), ends)
		if note != "" {
			sent = began
			if err != nil {
				a.keepNote(note)
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			ends = began.Add(lease)
			due = began.Add(lease / 3)
			timer.Reset(time.Until(due))
		case errors.Is(err, client.ErrStaleToken) || errors.Is(err, client.ErrNotFound) || !time.Now().Before(ends):
			a.leaseEnded(err) // ErrCancelled is an ErrStaleToken
			return
		default:
			a.warn("extend a lease", err, about(a.task)...)
			due = time.Now().Add(min(lease/10, time.Until(ends)))
			timer.Reset(time.Until(due))
		}
	}
}

// leaseEnded ends the handler's context because of an error of the lease.
func (a *attempt) leaseEnded(err error) {
	if errors.Is(err, ErrCancelled) {
		a.end(ErrCancelled)
	} else {
		a.end(ErrLeaseLost)
	}
}

// extend extends the lease by one call, which ends at the latest when the lease does.
func (a *attempt) extend(ctx context.Context, s *queuepb.Settlement, ends time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	select {
	case a.extending <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.extending }()
	return a.settle(ctx, a.task, s)
}

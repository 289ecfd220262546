package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// run is one call of Worker.Run.
type run struct {
	*Worker

	log     *slog.Logger
	session *client.Worker
	handle  Handler // the mux within the middleware

	handling    context.Context // the parent of the handlers' contexts
	endHandlers context.CancelCauseFunc
	settling    context.Context // of the session and of settlements
	endSettling context.CancelFunc

	slots     chan struct{} // has an element for each running handler
	extending chan struct{} // has an element for each active extension
	attempts  sync.WaitGroup

	mu      sync.Mutex
	running map[*queuepb.Task]*attempt
}

// receive starts a handler for each task until ctx or the session ends.
func (r *run) receive(ctx context.Context) error {
	for {
		select {
		case r.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		t, err := r.session.Receive(ctx)
		if err == nil {
			r.start(t)
			continue
		}
		<-r.slots
		if ctx.Err() == nil && !errors.Is(err, client.ErrUnavailable) {
			return fmt.Errorf("receive jobs: %w", err)
		}
		if ctx.Err() == nil {
			r.warn("the server is unreachable", err)
		}
	}
}

// stop ends the session and waits for the handlers. It returns err joined with its own errors.
//
// The session ends first: the server then sends no further task, and tasks without a handler are
// ready for other workers. The running handlers settle their tasks with unary calls.
func (r *run) stop(err error) error {
	defer r.endSettling()
	defer r.endHandlers(ErrShutdown)
	closing, cancel := context.WithCancel(r.settling)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- r.session.Close(closing) }()
	idle := make(chan struct{})
	go func() {
		r.attempts.Wait()
		close(idle)
	}()
	if !within(max(r.grace(), 0), idle) {
		r.endHandlers(ErrShutdown)
		if !within(abandonAfter, idle) {
			err = errors.Join(err, r.abandon())
		}
	}
	defer time.AfterFunc(abandonAfter, cancel).Stop()
	r.warn("close the session", <-closed)
	return err
}

func (r *run) warn(what string, err error, attributes ...any) {
	if err != nil {
		r.log.Warn("jobs: "+what, append(attributes, "error", err)...)
	}
}

// cancelled ends the context of a handler whose task was cancelled. If the handler has not started
// yet, keepLease finds the cancellation at its start.
func (r *run) cancelled(t *queuepb.Task) {
	r.mu.Lock()
	a := r.running[t]
	r.mu.Unlock()
	if a != nil {
		a.end(ErrCancelled)
	}
}

// within reports whether a channel is closed within the time d.
func within(d time.Duration, closed <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
		return false
	}
}

// abandon releases the tasks whose handlers ignore the end of their contexts.
func (r *run) abandon() error {
	r.mu.Lock()
	var left []*attempt
	for _, a := range r.running {
		if !a.settled {
			a.settled = true
			left = append(left, a)
		}
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.settling, abandonAfter)
	defer cancel()
	var names []string
	for _, a := range left {
		names = append(names, fmt.Sprintf("%s (%s)", KindOf(a.task), a.task.GetId()))
		r.warn("release a task", r.settle(ctx, a.task, release(0)), about(a.task)...)
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("handlers ignore the end of their contexts: %s", strings.Join(names, ", "))
}

package client

import (
	"context"
	"slices"
	"sync"

	"github.com/pronybench/prony/engine/queuepb"
)

// receiver is a goroutine that waits for a task.
type receiver struct {
	task  *queuepb.Task
	err   error
	ready chan struct{} // contains an element once task or err is set

	watched bool // true if the session watches the receiver's context
}

// arrivals passes pushed tasks to receivers. Tasks and receivers are both served in order of
// arrival.
type arrivals struct {
	idle sync.Pool // receivers (*receiver) for reuse

	mu      sync.Mutex
	tasks   []*queuepb.Task // tasks that were pushed; the first ones may already be received
	taken   int             // how many tasks of the list were already received
	max     int             // maximum number of tasks that wait for receivers
	waiting []*receiver     // receivers without a task; empty if tasks wait
	err     error           // the reason why no more tasks will arrive, or nil
	watch   watch
	over    <-chan struct{} // closed when the session ends
}

// put adds tasks. It returns false if more tasks wait than the session has slots.
func (a *arrivals) put(tasks []*queuepb.Task) bool {
	a.mu.Lock()
	n := min(len(tasks), len(a.waiting))
	for i, r := range a.waiting[:n] {
		r.task = tasks[i]
		r.ready <- struct{}{}
	}
	a.waiting = slices.Delete(a.waiting, 0, n)
	room := a.max - (len(a.tasks) - a.taken)
	fits := len(tasks)-n <= room
	if fits && n < len(tasks) {
		if a.taken > 0 && len(a.tasks)+len(tasks)-n > cap(a.tasks) {
			a.tasks, a.taken = slices.Delete(a.tasks, 0, a.taken), 0
		}
		a.tasks = append(a.tasks, tasks[n:]...)
	}
	a.mu.Unlock()
	return fits
}

// drop removes tasks whose leases ended before Receive returned them. It returns the leases of the
// removed tasks.
func (a *arrivals) drop(over map[leaseKey]struct{}) (dropped []leaseKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := slices.DeleteFunc(a.tasks[a.taken:], func(t *queuepb.Task) bool {
		k := leaseKey{t.GetId(), t.GetToken()}
		if _, ended := over[k]; !ended {
			return false
		}
		dropped = append(dropped, k)
		return true
	})
	a.tasks = a.tasks[:a.taken+len(kept)]
	if len(kept) == 0 {
		a.tasks, a.taken = a.tasks[:0], 0
	}
	return dropped
}

// pop returns the next task, if any. The caller must hold mu.
func (a *arrivals) pop() (*queuepb.Task, bool) {
	if a.taken == len(a.tasks) {
		return nil, false
	}
	t := a.tasks[a.taken]
	a.tasks[a.taken] = nil
	a.taken++
	if a.taken == len(a.tasks) {
		a.tasks, a.taken = a.tasks[:0], 0
	}
	return t, true
}

func (a *arrivals) tryReceive() (*queuepb.Task, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pop()
}

func (a *arrivals) receive(ctx context.Context) (*queuepb.Task, error) {
	a.mu.Lock()
	if t, ok := a.pop(); ok {
		a.mu.Unlock()
		return t, nil
	}
	if a.err != nil {
		defer a.mu.Unlock()
		return nil, a.err
	}
	r, ok := a.idle.Get().(*receiver)
	if !ok {
		r = &receiver{ready: make(chan struct{}, 1)}
	}
	watched := a.watch.covers(ctx, a.over, a.ended)
	r.watched = watched && ctx.Done() != nil
	a.waiting = append(a.waiting, r)
	a.mu.Unlock()
	if watched {
		<-r.ready
		return a.read(r)
	}
	select {
	case <-r.ready:
		return a.read(r)
	case <-ctx.Done():
		a.mu.Lock()
		if i := slices.Index(a.waiting, r); i >= 0 {
			a.waiting = slices.Delete(a.waiting, i, i+1)
			a.mu.Unlock()
			a.idle.Put(r)
			return nil, ctx.Err()
		}
		a.mu.Unlock()
		<-r.ready // a task arrived just before the removal
		return a.read(r)
	}
}

func (a *arrivals) read(r *receiver) (*queuepb.Task, error) {
	t, err := r.task, r.err
	r.task, r.err = nil, nil
	a.idle.Put(r)
	return t, err
}

func (a *arrivals) interrupt(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dismiss(err)
}

// dismiss is interrupt for a caller that already holds mu.
func (a *arrivals) dismiss(err error) {
	for _, r := range a.waiting {
		r.err = err
		r.ready <- struct{}{}
	}
	a.waiting = nil
}

// end ends all current and later waits for tasks with an error. Only the error of the first call is
// used.
func (a *arrivals) end(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
	a.dismiss(a.err)
}

// ended is called when the watched context has ended. It ends the waits of all receivers with that
// context.
func (a *arrivals) ended(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watch.forget()
	a.waiting = slices.DeleteFunc(a.waiting, func(r *receiver) bool {
		if r.watched {
			r.err = ctx.Err()
			r.ready <- struct{}{}
		}
		return r.watched
	})
}

package beanstalkd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	beanstalk "github.com/beanstalkd/go-beanstalk"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

// reserved is the handle of a claimed task.
type reserved struct {
	link    *link
	id      uint64
	settled atomic.Bool
}

type worker struct {
	conn   *conn
	tenant string
	tubes  []string
	queues map[string]string // by tube

	mu   sync.Mutex
	idle []*link // links without a reserved job
}

func (w *worker) take() (*link, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.idle) - 1; last >= 0 {
		l := w.idle[last]
		w.idle = w.idle[:last]
		return l, nil
	}
	return w.conn.open()
}

func (w *worker) give(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.idle) == idleMax {
		l.drop()
		return
	}
	w.idle = append(w.idle, l)
}

// Claim implements driver.Worker.
func (w *worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	l, err := w.take()
	if err != nil {
		return 0, err
	}
	// A connection can watch several tubes, but a reserved job does not contain the name of its
	// tube. A link that watches several tubes therefore asks for the tube of each job.
	set := beanstalk.NewTubeSet(l.Conn, w.tubes...)
	for ctx.Err() == nil {
		n, err := w.reserve(l, set, into[:1], reserveMax)
		if err == nil && n == 1 && len(into) > 1 {
			var more int
			more, err = w.reserve(l, set, into[1:], 0)
			n += more
		}
		if err != nil && n == 0 {
			l.drop()
			return 0, err
		}
		if n > 0 {
			return n, nil // if the link breaks later, the completions fail
		}
	}
	w.give(l)
	return 0, context.Cause(ctx)
}

// reserve claims up to len(into) jobs over a link concurrently. Each reserve waits for up to wait.
func (w *worker) reserve(l *link, set *beanstalk.TubeSet, into []driver.Delivery, wait time.Duration) (int, error) {
	var mu sync.Mutex
	var n int
	var broke error
	pipelined(len(into), func(int) {
		id, body, err := set.Reserve(wait)
		queue := w.queues[w.tubes[0]]
		if err == nil && len(w.tubes) > 1 {
			queue, err = w.queueOf(l, id)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			into[n] = driver.Delivery{Tenant: w.tenant, Queue: queue, Payload: body, Handle: &reserved{link: l, id: id}}
			n++
		case !answered(err):
			broke = err
		}
	})
	l.mu.Lock()
	l.left += n
	l.mu.Unlock()
	return n, broke
}

func (w *worker) queueOf(l *link, id uint64) (string, error) {
	stats, err := l.StatsJob(id)
	if err != nil {
		return "", err
	}
	queue, ok := w.queues[stats["tube"]]
	if !ok {
		return "", errors.New("a job came from tube " + stats["tube"] + ", which the worker does not watch")
	}
	return queue, nil
}

// Complete implements driver.Worker.
func (w *worker) Complete(_ context.Context, deliveries []driver.Delivery, outcomes []error) error {
	for i := range deliveries {
		if _, ok := deliveries[i].Handle.(*reserved); !ok {
			return peer.ErrNotClaimed
		}
	}
	pipelined(len(deliveries), func(i int) {
		handle := deliveries[i].Handle.(*reserved)
		if handle.settled.Swap(true) {
			outcomes[i] = peer.ErrLeaseOver
			return
		}
		err := handle.link.Delete(handle.id)
		outcomes[i] = outcomeOf(err)
		handle.link.settled(w, err != nil && !answered(err))
	})
	return nil
}

// settled counts a settled job. It returns the link to the worker when no job is left, or drops it
// if it is broken.
func (l *link) settled(w *worker, broken bool) {
	l.mu.Lock()
	l.left--
	last := l.left == 0
	l.mu.Unlock()
	switch {
	case broken:
		l.drop()
	case last:
		w.give(l)
	}
}

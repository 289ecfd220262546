package peers_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
)

// retryPause is the pause after a failed call, so that a load does not retry in a busy loop while a
// server is down. No test depends on its length.
const retryPause = 20 * time.Millisecond

// load is a set of producers and workers with a ledger.
type load struct {
	t      *testing.T
	ledger *ledger.Ledger

	made      atomic.Int32 // number of producers
	stop      chan struct{}
	producers sync.WaitGroup
	workers   sync.WaitGroup
	ctx       context.Context // context of claims
	end       context.CancelFunc

	mu   sync.Mutex
	last error // last error of a call or a task
}

// failed records an error, which awaitCompleted reports.
func (l *load) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = err
}

func newLoad(t *testing.T) *load {
	var routes []ledger.Route
	for _, q := range queues {
		routes = append(routes, ledger.Route{Tenant: q.Tenant, Queue: q.Name})
	}
	l := &load{t: t, ledger: ledger.New(rand.Uint64(), 8, routes), stop: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(context.Background())
	t.Cleanup(func() { // before the connections close, even if the test fails
		l.end()
		l.workers.Wait()
	})
	return l
}

// produce enqueues calls batches of a size, alternating between the queues.
func (l *load) produce(conn driver.Conn, tenant string, queues []string, batch, size, calls int) {
	enqueue := l.producer(conn, tenant, queues, batch, size)
	l.producers.Go(func() {
		for range calls {
			for _, outcome := range enqueue() {
				assert.NoError(l.t, outcome)
			}
		}
	})
}

// keepProducing enqueues until finish, even after errors.
func (l *load) keepProducing(conn driver.Conn, tenant string, queues []string, batch, size int) {
	enqueue := l.producer(conn, tenant, queues, batch, size)
	l.producers.Go(func() {
		for {
			select {
			case <-l.stop:
				return
			default:
			}
			if err := errors.Join(enqueue()...); err != nil {
				l.failed(err)
				time.Sleep(retryPause)
			}
		}
	})
}

// producer returns a function that enqueues the next batch.
func (l *load) producer(conn driver.Conn, tenant string, queues []string, batch, size int) func() []error {
	p, err := conn.Producer(l.t.Context(), tenant)
	require.NoError(l.t, err)
	number := int(l.made.Add(1)) - 1
	tasks, outcomes := make([]driver.Task, batch), make([]error, batch)
	for i := range tasks {
		tasks[i].Payload = make([]byte, size)
	}
	return func() []error {
		first := l.ledger.Sent(number, batch)
		for i := range tasks {
			to := ledger.NewAddress(tenant, queues[i%len(queues)])
			tasks[i].Tenant, tasks[i].Queue = tenant, to.Queue
			ledger.Seal(tasks[i].Payload, ledger.Identity{Round: l.ledger.Round(), Producer: uint32(number), Sequence: first + uint64(i)}, to)
		}
		if err := p.Enqueue(context.Background(), tasks, outcomes); err != nil {
			l.ledger.Unknown(number, first, batch)
			return []error{err}
		}
		for i, outcome := range outcomes {
			switch sequence := first + uint64(i); {
			case outcome == nil:
				l.ledger.Enqueued(number, sequence, 1)
			case errors.Is(outcome, driver.ErrUnknown):
				l.ledger.Unknown(number, sequence, 1)
			default:
				l.ledger.Refused(number, sequence, 1)
			}
		}
		return outcomes
	}
}

// work claims and completes until finish.
func (l *load) work(conn driver.Conn, tenant string, queues []string, batch int) {
	w, err := conn.Worker(l.t.Context(), tenant, queues, batch)
	require.NoError(l.t, err)
	l.workers.Go(func() {
		into, outcomes := make([]driver.Delivery, batch), make([]error, batch)
		for l.ctx.Err() == nil {
			n, err := w.Claim(l.ctx, into)
			if err != nil {
				l.failed(err)
				time.Sleep(retryPause)
				continue
			}
			l.complete(w, tenant, into[:n], outcomes[:n])
		}
	})
}

func (l *load) complete(w driver.Worker, tenant string, claimed []driver.Delivery, outcomes []error) {
	ids := make([]ledger.Identity, len(claimed))
	for i := range claimed {
		var verdict ledger.Verdict
		ids[i], verdict = l.ledger.Claimed(claimed[i].Payload, ledger.NewAddress(tenant, claimed[i].Queue))
		assert.Equal(l.t, ledger.Sound, verdict)
	}
	err := w.Complete(context.Background(), claimed, outcomes)
	for i, id := range ids {
		switch {
		case err != nil, errors.Is(outcomes[i], driver.ErrUnknown):
			l.ledger.CompletionUnknown(id)
		case outcomes[i] != nil:
			l.ledger.CompletionRefused(id)
		default:
			l.ledger.Completed(id)
		}
	}
}

func (l *load) awaitCompleted(count uint64) {
	deadline := time.Now().Add(patience)
	for l.ledger.Totals().Completed < count {
		if time.Now().After(deadline) {
			l.mu.Lock()
			defer l.mu.Unlock()
			require.Fail(l.t, "too few tasks were completed", "%d of %d; the last error was %v", l.ledger.Totals().Completed, count, l.last)
		}
		time.Sleep(retryPause)
	}
}

// finish ends the producers, and then the workers when each task with known outcomes is completed.
func (l *load) finish() {
	close(l.stop)
	l.producers.Wait()
	assert.Eventually(l.t, func() bool {
		totals := l.ledger.Totals()
		return totals.Outstanding <= totals.Doubtful
	}, patience, retryPause, "tasks are left")
	l.end()
	l.workers.Wait()
}

package load

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// newTestMeter returns a meter for the load of a configuration. The load begins in a second.
func newTestMeter(t testing.TB, cfg Config) *Meter {
	m, err := NewMeter(t.Context(), MeterConfig{
		Workload: cfg.Workload, Phases: cfg.Phases, Ledger: cfg.Ledger, Epoch: time.Now().Add(time.Second), pause: timerPause{},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// putOn puts the load of a meter on a target like a script, with the producers and slots that Run
// would have.
func putOn(ctx context.Context, t testing.TB, m *Meter, cfg Config) {
	w := cfg.Workload
	calls, cancel := context.WithCancel(ctx)
	defer cancel()
	var producers, slots sync.WaitGroup
	for i := range w.Producers {
		conn, routes := producerPlace(i, w.Producers, w.Tenants, w.Queues, len(cfg.Conns))
		producers.Go(func() { produce(calls, t, m, cfg, cfg.Conns[conn], routes) })
	}
	for i := range w.Workers {
		conn, tenant := slotPlace(i, w.Tenants, len(cfg.Conns))
		slots.Go(func() { settle(calls, t, m, cfg, cfg.Conns[conn], TenantName(tenant)) })
	}
	producers.Wait()
	ticker := time.NewTicker(drainPoll)
	defer ticker.Stop()
	for !m.Done() {
		<-ticker.C
	}
	cancel()
	slots.Wait()
}

func produce(ctx context.Context, t testing.TB, m *Meter, cfg Config, conn driver.Conn, routes []route) {
	s := m.Sender()
	var patience again // as in Run
	for next := 0; ; next++ {
		due, err := m.Next(ctx, cfg.Workload.Batch)
		if len(due) == 0 {
			assert.NoError(t, err)
			return
		}
		to := routes[next%len(routes)]
		address := ledger.NewAddress(TenantName(to.tenant), QueueName(to.queue))
		session, err := conn.Producer(ctx, address.Tenant)
		if !assert.NoError(t, err) {
			return
		}
		payloads, tasks := make([][]byte, len(due)), make([]driver.Task, len(due))
		for i := range payloads {
			payloads[i] = make([]byte, cfg.Workload.Payload.Min)
			tasks[i] = driver.Task{Tenant: address.Tenant, Queue: address.Queue, Payload: payloads[i]}
		}
		batch := s.Seal(address, payloads, true, due)
		outcomes := make([]error, len(due))
		err = session.Enqueue(ctx, tasks, outcomes)
		s.Answered(batch, outcomes, err)
		switch failed := slices.DeleteFunc(slices.Clone(outcomes), func(err error) bool { return err == nil }); {
		case slices.ContainsFunc(failed, func(err error) bool { return errors.Is(err, driver.ErrUnknown) }):
			patience.after(ctx, driver.ErrUnknown)
		case len(failed) == len(outcomes):
			patience.wait(ctx)
		default:
			patience.answered()
		}
	}
}

func settle(ctx context.Context, t testing.TB, m *Meter, cfg Config, conn driver.Conn, tenant string) {
	s := m.Settler()
	session, err := conn.Worker(ctx, tenant, names(QueueName, 0, cfg.Workload.Queues), cfg.Workload.Batch)
	if !assert.NoError(t, err) {
		return
	}
	deliveries := make([]driver.Delivery, cfg.Workload.Batch)
	for ctx.Err() == nil {
		n, err := session.Claim(ctx, deliveries)
		if err != nil {
			s.Failed(err)
			continue
		}
		claims := make([]Claim, n)
		for i, d := range deliveries[:n] {
			claims[i] = s.Claimed(d.Payload, ledger.NewAddress(tenant, d.Queue))
		}
		outcomes := make([]error, n)
		err = session.Complete(ctx, deliveries[:n], outcomes)
		s.Completed(claims, outcomes, err)
	}
}

// figures returns the figures of an outcome that two runs of the same load must share.
func figures(t require.TestingT, o *Outcome, l *ledger.Ledger) map[string]any {
	h := result.Histograms{Enqueue: o.EnqueueLatency, Settle: o.SettleLatency, Cycle: o.CycleLatency}
	f := map[string]any{
		"window": []time.Duration{o.WindowStart.Sub(o.Launched), o.WindowEnd.Sub(o.Launched), o.Window},
		"cycles": o.Cycles, "enqueued": o.Enqueued, "clamped": o.Clamped, "drained": o.Drained,
		"refused enqueues": o.RefusedEnqueues, "refused completions": o.RefusedCompletions, "failed": o.FailedCalls.Count,
		"balance": l.Balance(),
	}
	if o.Open != nil {
		h.Slip, h.Service = o.Open.Slip, o.Open.Service
		account := *o.Open
		account.Slip, account.Service = nil, nil
		f["open"] = account
	}
	for _, kind := range h.Kinds() {
		counts := map[int64]int64{}
		for _, bar := range kind.Histogram.Distribution() {
			if bar.Count > 0 {
				counts[bar.From] = bar.Count
			}
		}
		f[kind.Name] = counts
	}
	require.NotZero(t, o.Cycles)
	return f
}

// A Meter records the same figures as Run for the same load on the same target.
func TestMeterHasTheFiguresOfRun(t *testing.T) {
	open := func(b *broker, change func(*scenario.Workload)) Config { return open(b, 1000, change) }
	closed := func(b *broker, change func(*scenario.Workload)) Config { return config(b, workload(change)) }
	for name, c := range map[string]struct {
		config func(*broker, func(*scenario.Workload)) Config
		change func(*scenario.Workload)
		broken func(*broker)
	}{
		"closed":         {closed, nil, nil},
		"closed batches": {closed, func(w *scenario.Workload) { w.Batch = 7 }, nil},
		"closed with an in-flight limit": {
			closed, func(w *scenario.Workload) { w.Batch, w.InFlight = 4, 8 },
			func(b *broker) { b.completeDelay = 20 * time.Millisecond },
		},
		"closed and refused": {closed, func(w *scenario.Workload) { w.Batch, w.InFlight = 6, 12 }, func(b *broker) {
			b.refuseEnqueue = oneIn(5, errors.New("queue is full"))
			b.refuseComplete = func(n int) (error, bool) { return oneIn(7, errors.New("lease expired"))(n), n%7 == 0 }
		}},
		"closed and unknown": {closed, func(w *scenario.Workload) { w.InFlight = 6 }, func(b *broker) {
			unknown := oneIn(5, driver.ErrUnknown)
			// No fault at the window's end, where Run may pause before its last call.
			b.refuseEnqueue = func(n int) error {
				if n < 2000 {
					return unknown(n)
				}
				return nil
			}
		}},
		"open":         {open, nil, nil},
		"open batches": {open, func(w *scenario.Workload) { w.Batch = 16 }, nil},
		"open and refused": {open, func(w *scenario.Workload) { w.InFlight = 10 }, func(b *broker) {
			b.refuseEnqueue = oneIn(4, errors.New("queue is full"))
		}},
		"open and unknown": {open, nil, func(b *broker) { b.refuseEnqueue = oneIn(4, driver.ErrUnknown) }},
		"open and dropped": {open, func(w *scenario.Workload) { w.InFlight, w.Workers, w.Producers = 100, 50, 50 }, func(b *broker) {
			b.completeDelay = 500 * time.Millisecond
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var of [2]map[string]any
			for i := range of {
				synctest.Test(t, func(t *testing.T) {
					b := newBroker()
					if c.broken != nil {
						c.broken(b)
					}
					cfg := c.config(b, c.change)
					cfg.Persist = true
					var o *Outcome
					if i == 0 {
						var err error
						o, err = Run(t.Context(), cfg)
						require.NoError(t, err)
					} else {
						m := newTestMeter(t, cfg)
						putOn(t.Context(), t, m, cfg)
						o = m.Outcome()
					}
					of[i] = figures(t, o, cfg.Ledger)
				})
			}
			assert.Equal(t, of[0], of[1])
		})
	}
}

func oneIn(n int, err error) func(int) error {
	return func(i int) error {
		if i%n == 0 {
			return err
		}
		return nil
	}
}

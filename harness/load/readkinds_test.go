package load

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

func (b *broker) look(id string) (task driver.Delivery, stored bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	task, stored = b.shelf.tasks[id]
	return task, stored
}

func (r fakeReader) Await(ctx context.Context, tenant, id string, most time.Duration) (driver.Awaited, error) {
	s := r.b.shelf
	if s.call != nil {
		if err := s.call(ctx); err != nil {
			return driver.Awaited{}, err
		}
	}
	if err := wait(ctx, s.delay); err != nil {
		return driver.Awaited{}, err
	}
	task, stored := r.b.look(id)
	if s.awaits != nil && stored {
		if a := s.awaits(task.Tenant == r.tenant, tenant == r.tenant); a != nil {
			return a.Awaited, a.err
		}
	}
	switch {
	case tenant != r.tenant:
		return driver.Awaited{}, driver.ErrDenied
	case !stored || task.Tenant != tenant:
		return driver.Awaited{}, driver.ErrNotFound
	}
	for until := time.Now().Add(most); stored && time.Now().Before(until); _, stored = r.b.look(id) {
		if err := wait(ctx, time.Millisecond); err != nil {
			return driver.Awaited{}, err
		}
	}
	if !stored {
		return driver.Awaited{State: driver.Done}, nil
	}
	return driver.Awaited{State: driver.Open}, nil
}

// awaitAnswer is a wrong answer to an await.
type awaitAnswer struct {
	driver.Awaited
	err error
}

// fakeQueues reads queues as one tenant, with a token that is valid for this tenant only.
type fakeQueues struct {
	b      *broker
	tenant string
}

func (r fakeQueues) Close() error { return nil }

func (r fakeQueues) List(ctx context.Context, tenant, queue string, leased bool) (listed []driver.Found, err error) {
	if err := wait(ctx, r.b.shelf.delay); err != nil {
		return nil, err
	}
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if leased {
		r.b.shelf.ofLeased++
	} else {
		r.b.shelf.ofReady++
	}
	for _, id := range slices.Sorted(maps.Keys(r.b.shelf.tasks)) {
		if task := r.b.shelf.tasks[id]; task.Tenant == tenant && task.Queue == queue && len(listed) < driver.ListMax {
			listed = append(listed, driver.Found{ID: id, Tenant: tenant, Queue: queue, Payload: slices.Clone(task.Payload)})
		}
	}
	if tenant != r.tenant {
		err = driver.ErrDenied
	}
	if r.b.shelf.lists != nil {
		r.b.shelf.lists(tenant == r.tenant, &listed, &err)
	}
	if err != nil {
		return nil, err
	}
	return listed, nil
}

func (r fakeQueues) Stats(ctx context.Context, tenant, queue string) (stats driver.QueueStats, err error) {
	if err := wait(ctx, r.b.shelf.delay); err != nil {
		return stats, err
	}
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	stats = driver.QueueStats{Tenant: tenant, Queue: queue, Enqueued: uint64(r.b.sent[tenant+"/"+queue])}
	if tenant != r.tenant {
		err = driver.ErrDenied
	}
	if r.b.shelf.stats != nil {
		r.b.shelf.stats(tenant == r.tenant, &stats, &err)
	}
	return stats, err
}

func TestReadsByKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		cfg := reading(b, func(w *scenario.Workload) { w.Reads = scenario.Reads{Get: 0.1, List: 0.1, Stats: 0.2, Await: 0.3} })
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.True(t, o.Drained)
		balance := cfg.Ledger.Balance()
		assert.Zero(t, balance.Misread+balance.Lost+balance.Duplicated+balance.Corrupted, "%v", balance.Samples)
		require.Len(t, o.Reads, 4)
		answered := uint64(0)
		for i, kind := range scenario.ReadKinds() {
			of := o.Reads[i]
			require.Equal(t, kind, of.Kind)
			a := of.Account
			answered += a.Answered
			assert.Equal(t, a.Answered, a.Found+a.Gone+a.Unended+a.Foreign, kind)
			assert.Zero(t, a.Wrong+a.Mismatches+a.Refused+a.Unended, kind)
			assert.NotZero(t, a.Found, kind)
			assert.NotZero(t, a.ForeignStored, kind)
			assert.InDelta(t, float64(a.Answered)/8, float64(a.Foreign), 20, kind)
			assert.EqualValues(t, a.Answered, of.Latency.TotalCount(), kind)
			assert.InDelta(t, cfg.Workload.Reads.PerTask(kind)*float64(o.Enqueued), float64(a.Answered+a.Dropped), 0.02*float64(a.Answered)+40, kind)
			assert.Equal(t, kind == scenario.ReadList, a.Tasks > 0, kind)
		}
		assert.Greater(t, b.shelf.ofLeased, b.shelf.ofReady/2, "lists of ready and leased tasks alternate")
		assert.Less(t, answered, balance.Reads, "reads of all kinds are checked, also in the warm-up")
		assert.Greater(t, o.Reads[3].Latency.ValueAtPercentile(50), o.Reads[0].Latency.ValueAtPercentile(50), "an await lasts until the task ends")
	})
}

// An await of a task that does not end soon returns after two seconds. Many awaits wait at the same
// time.
func TestAwaitsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		b.completeDelay = 3 * time.Second
		cfg := reading(b, func(w *scenario.Workload) { w.Reads = scenario.Reads{Await: 0.5} })
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		a := o.Reads[0].Account
		assert.NotZero(t, a.Unended)
		assert.Zero(t, cfg.Ledger.Balance().Misread, "%v", cfg.Ledger.Balance().Samples)
		longest := o.Reads[0].Latency.Max()
		assert.InEpsilon(t, float64(awaitMax), float64(longest), 0.02)
		assert.LessOrEqual(t, a.Answered, uint64(2*16*2), "sixteen concurrent awaits for each of two tenants, two seconds each, in a window of two seconds")
	})
}

// Every kind of wrong answer to a read of a queue or an await is reported.
func TestMisreadsByKind(t *testing.T) {
	lists := func(own bool, spoil func(*[]driver.Found, *error)) func(*shelf) {
		return func(s *shelf) {
			s.lists = func(of bool, listed *[]driver.Found, err *error) {
				if of == own && (!own || len(*listed) > 0) {
					spoil(listed, err)
				}
			}
		}
	}
	stats := func(own bool, spoil func(*driver.QueueStats, *error)) func(*shelf) {
		return func(s *shelf) {
			s.stats = func(of bool, stats *driver.QueueStats, err *error) {
				if of == own {
					spoil(stats, err)
				}
			}
		}
	}
	awaits := func(own, inOwnName bool, a awaitAnswer) func(*shelf) {
		return func(s *shelf) {
			s.awaits = func(of, named bool) *awaitAnswer {
				if of != own || named != inOwnName {
					return nil
				}
				return &a
			}
		}
	}
	list, figures, await := scenario.Reads{List: 0.3}, scenario.Reads{Stats: 0.3}, scenario.Reads{Await: 0.3}
	for name, c := range map[string]struct {
		reads scenario.Reads
		fault func(*shelf)
		says  string
	}{
		"a list with another tenant's task": {list, lists(true, func(l *[]driver.Found, _ *error) { (*l)[0].Tenant = "t9" }), "entry 1 of the answer is wrong: it is a task of t9/q"},
		"a list with another queue's task":  {list, lists(true, func(l *[]driver.Found, _ *error) { (*l)[0].Queue = "q9" }), "entry 1 of the answer is wrong: it is a task of t"},
		"a list with another payload":       {list, lists(true, func(l *[]driver.Found, _ *error) { (*l)[len(*l)-1].Payload[40]++ }), "bytes that do not match their checksum"},
		"a list without payloads":           {list, lists(true, func(l *[]driver.Found, _ *error) { (*l)[0].Payload = nil }), "less than the header of 32"},
		"a list that is too long": {list, lists(true, func(l *[]driver.Found, _ *error) {
			for len(*l) <= driver.ListMax {
				*l = append(*l, (*l)[0])
			}
		}), "the answer has 101 tasks, the limit was 100"},
		"a list of an unknown queue":     {list, lists(true, func(_ *[]driver.Found, err *error) { *err = driver.ErrNotFound }), "expected the task's queue, got not found"},
		"a list that is denied":          {list, lists(true, func(_ *[]driver.Found, err *error) { *err = driver.ErrDenied }), "access to its own queue was denied"},
		"another tenant's list":          {list, lists(false, func(_ *[]driver.Found, err *error) { *err = nil }), "cross-tenant read: got the tasks of a queue, expected a refusal"},
		"another tenant's list, unknown": {list, lists(false, func(_ *[]driver.Found, err *error) { *err = driver.ErrNotFound }), "cross-tenant read: expected denied"},

		"figures of another tenant":         {figures, stats(true, func(s *driver.QueueStats, _ *error) { s.Tenant = "t9" }), "the answer has the figures of t9/q"},
		"figures of another queue":          {figures, stats(true, func(s *driver.QueueStats, _ *error) { s.Queue = "q9" }), "the answer has the figures of t"},
		"figures without a task":            {figures, stats(true, func(s *driver.QueueStats, _ *error) { s.Enqueued = 0 }), "the answer has 0 enqueued tasks"},
		"figures of an unknown queue":       {figures, stats(true, func(_ *driver.QueueStats, err *error) { *err = driver.ErrNotFound }), "expected the task's queue, got not found"},
		"another tenant's figures":          {figures, stats(false, func(_ *driver.QueueStats, err *error) { *err = nil }), "cross-tenant read: got the figures of a queue, expected a refusal"},
		"another tenant's figures, unknown": {figures, stats(false, func(_ *driver.QueueStats, err *error) { *err = driver.ErrNotFound }), "cross-tenant read: expected denied"},

		"an end before the completion": {await, awaits(true, true, awaitAnswer{Awaited: driver.Awaited{State: driver.Done}}), "whose completion was not requested, got done"},
		"a death":                      {await, awaits(true, true, awaitAnswer{Awaited: driver.Awaited{State: driver.Dead}}), "expected a task that is not dead"},
		"another task's result":        {await, awaits(true, true, awaitAnswer{Awaited: driver.Awaited{State: driver.Done, Result: []byte("another's")}}), "a result of 9 bytes"},
		"no wait":                      {await, awaits(true, true, awaitAnswer{Awaited: driver.Awaited{State: driver.Open}}), "the requested wait was 2s"},
		"no state":                     {await, awaits(true, true, awaitAnswer{}), "the answer has no task state"},
		"a task that is lost":          {await, awaits(true, true, awaitAnswer{err: driver.ErrNotFound}), "got not found"},
		"a task that is denied":        {await, awaits(true, true, awaitAnswer{err: driver.ErrDenied}), "access to its own task was denied"},
		"another tenant's by its id":   {await, awaits(false, true, awaitAnswer{Awaited: driver.Awaited{State: driver.Open}}), "cross-tenant read: got the end of a task, expected a refusal"},
		"another tenant's by name":     {await, awaits(false, false, awaitAnswer{Awaited: driver.Awaited{State: driver.Done}}), "cross-tenant read: got the end of a task, expected a refusal"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := shelved(newBroker())
				c.fault(b.shelf)
				cfg := brief(reading(b, func(w *scenario.Workload) { w.Reads = c.reads }))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				require.NotZero(t, balance.Misread)
				assert.Less(t, balance.Misread, balance.Reads)
				a := o.Reads[0].Account
				assert.NotZero(t, a.Wrong)
				assert.Equal(t, balance.Misread, a.Mismatches)
				assert.Equal(t, a.Answered, a.Found+a.Gone+a.Unended+a.Foreign+a.Wrong)
				assert.Regexp(t, `^misread: tenant t\d (listed the queue of|asked for the figures of the queue of|awaited the end of) task \d+ \(producer \d+ task \d+, sent to t\d/q\d\): .`, balance.Samples[0])
				assert.Contains(t, balance.Samples[0], c.says)
			})
		})
	}
}

// Without tokens the server cannot deny a queue, so no read of a queue names another tenant.
func TestQueuesAreNotReadInAnotherNameWithoutTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		b.shelf.lists = func(_ bool, _ *[]driver.Found, err *error) { *err = nil }
		b.shelf.stats = func(_ bool, _ *driver.QueueStats, err *error) { *err = nil }
		cfg := reading(b, func(w *scenario.Workload) { w.Reads = scenario.Reads{List: 0.2, Stats: 0.2, Await: 0.2} })
		cfg.Readers.Confined = false
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.Zero(t, o.Reads[0].Account.Foreign+o.Reads[1].Account.Foreign)
		assert.NotZero(t, o.Reads[2].Account.ForeignStored, "awaits name the reader's own tenant")
		assert.Zero(t, cfg.Ledger.Balance().Misread, "%v", cfg.Ledger.Balance().Samples)
	})
}

func TestAwaitsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		b.shelf.call = breakAfter(2 * time.Second)
		_, err := Run(t.Context(), reading(b, func(w *scenario.Workload) { w.Reads = scenario.Reads{Await: 0.5} }))
		require.ErrorIs(t, err, errBroken)
		require.ErrorContains(t, err, "load: await of task ")
	})
}

func TestReadersOfQueuesThatAreMissing(t *testing.T) {
	cfg := reading(newBroker(), func(w *scenario.Workload) { w.Reads = scenario.Reads{List: 0.5} })
	cfg.Readers.Queues = nil
	_, err := Run(t.Context(), cfg)
	require.ErrorContains(t, err, "load: 0 readers of queues given; these reads need one for each of the 2 tenants")
}

package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// shelf stores tasks for reads: tasks whose enqueue was stored and that were not completed.
type shelf struct {
	delay time.Duration // before a read is answered
	// fault changes the answer to the nth read, from 1. own reports whether the task belongs to the
	// asking tenant. nil: no fault.
	fault func(n int, own bool, found *driver.Found, err *error)
	// call fails whole reads; nil: none.
	call func(ctx context.Context) error
	// awaits returns a wrong answer to an await of a stored task, or nil for the right one. own
	// reports whether the task belongs to the asking tenant, and named whether the await names that
	// tenant. nil: no fault.
	awaits func(own, named bool) *awaitAnswer
	// lists and stats change the answers to reads of queues. nil: no fault.
	lists func(own bool, listed *[]driver.Found, err *error)
	stats func(own bool, stats *driver.QueueStats, err *error)
	// ofLeased and ofReady count the lists of leased and of ready tasks.
	ofLeased, ofReady int
	// early makes completions take effect when they are requested, long before they are
	// acknowledged.
	early bool

	tasks    map[string]driver.Delivery // by id
	ids      map[string]string          // by payload
	reads    int
	answered []instant
}

// shelved makes a broker store its tasks for reads. Tasks stay for a while: their completion takes
// longer than their acknowledgement.
func shelved(b *broker) *broker {
	b.shelf = &shelf{delay: 300 * time.Microsecond, tasks: map[string]driver.Delivery{}, ids: map[string]string{}}
	b.ackDelay, b.completeDelay = 0, 5*time.Millisecond
	return b
}

// fakeReader reads as one tenant, with a token that is valid for this tenant only.
type fakeReader struct {
	b      *broker
	tenant string
}

func (r fakeReader) Close() error { return nil }

func (r fakeReader) Read(ctx context.Context, tenant, id string) (driver.Found, error) {
	s := r.b.shelf
	if s.call != nil {
		if err := s.call(ctx); err != nil {
			return driver.Found{}, err
		}
	}
	if err := wait(ctx, s.delay); err != nil {
		return driver.Found{}, err
	}
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	s.reads++
	s.answered = append(s.answered, instant{time.Now(), 1})
	task, stored := s.tasks[id]
	found, err := driver.Found{ID: id, Tenant: task.Tenant, Queue: task.Queue, Payload: slices.Clone(task.Payload)}, error(nil)
	switch {
	case tenant != r.tenant:
		err = driver.ErrDenied
	case !stored || task.Tenant != tenant:
		err = driver.ErrNotFound
	}
	if s.fault != nil && stored {
		s.fault(s.reads, task.Tenant == r.tenant, &found, &err)
	}
	if err != nil {
		found = driver.Found{}
	}
	return found, err
}

// reading configures a load with one read for each task, and tasks that wait for workers.
func reading(b *broker, change func(*scenario.Workload)) Config {
	cfg := config(b, workload(func(w *scenario.Workload) {
		w.Reads, w.InFlight = scenario.Reads{Get: 0.5}, 200
		if change != nil {
			change(w)
		}
	}))
	cfg.Readers = readersOf(b, cfg.Workload)
	return cfg
}

func readersOf(b *broker, w scenario.Workload) Readers {
	readers := Readers{Confined: true}
	for _, tenant := range tenantsOf(w) {
		readers.Of = append(readers.Of, fakeReader{b, tenant})
		readers.Queues = append(readers.Queues, fakeQueues{b, tenant})
	}
	return readers
}

func TestReads(t *testing.T) {
	for name, share := range map[string]struct{ reads, perTask float64 }{
		"one for each task": {0.5, 1}, "one for four": {0.2, 0.25}, "three for each": {0.75, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := shelved(newBroker())
				cfg := reading(b, func(w *scenario.Workload) { w.Reads = scenario.Reads{Get: share.reads} })
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained)
				balance := cfg.Ledger.Balance()
				assert.Zero(t, balance.Misread+balance.Lost+balance.Duplicated+balance.Corrupted, "%v", balance.Samples)
				assert.EqualValues(t, b.shelf.reads, balance.Reads, "all reads are judged")

				require.Len(t, o.Reads, 1)
				assert.Equal(t, scenario.ReadGet, o.Reads[0].Kind)
				reads := o.Reads[0].Account
				assert.Equal(t, countWithin(b.shelf.answered, o.WindowStart, o.WindowEnd), reads.Answered, "reads of the warm-up do not count")
				assert.Less(t, reads.Answered, balance.Reads)
				assert.Equal(t, reads.Answered, reads.Found+reads.Gone+reads.Foreign)
				assert.Zero(t, reads.Wrong+reads.Refused)
				assert.NotZero(t, reads.Found)
				assert.NotZero(t, reads.ForeignStored, "the target has tasks that it refused to return")
				assert.InDelta(t, float64(reads.Answered)/8, float64(reads.Foreign), 10, "one in eight is of another tenant")
				assert.InDelta(t, share.perTask*float64(o.Enqueued), float64(reads.Answered+reads.Dropped), 0.02*float64(reads.Answered)+10)
				assert.EqualValues(t, reads.Answered, o.Reads[0].Latency.TotalCount())
				assert.InEpsilon(t, float64(b.shelf.delay), float64(o.Reads[0].Latency.ValueAtPercentile(50)), 0.02, "the service time")
				assert.Equal(t, countWithin(b.completed, o.WindowStart, o.WindowEnd), o.Cycles, "reads do not count as cycles")
			})
		})
	}
}

// Once the completion of a task was requested, its read may find it or not, before and after the
// acknowledgement.
func TestReadsOfCompletedTasksAreGone(t *testing.T) {
	for name, change := range map[string]func(*broker){
		"completed":       func(b *broker) { b.completeDelay = 0 },
		"being completed": func(b *broker) { b.shelf.early = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := shelved(newBroker())
				change(b)
				cfg := reading(b, func(w *scenario.Workload) { w.Workers = 40 })
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.NotZero(t, o.Reads[0].Account.Gone)
				assert.Zero(t, cfg.Ledger.Balance().Misread, "%v", cfg.Ledger.Balance().Samples)
			})
		})
	}
}

// A cross-tenant read prefers a task that the target must still have, and cycles through the
// tenants.
func TestForeignReadsAskForTasksThatAreThere(t *testing.T) {
	w := workload(func(w *scenario.Workload) { w.Tenants, w.Reads = 4, scenario.Reads{Get: 0.5} })
	l := NewLedger(42, w)
	l.WatchReads()
	r := &reader{round: &round{}}
	for i, tenant := range tenantsOf(w) {
		reads := &tenantReads{tenant: tenant}
		r.allReads = append(r.allReads, reads)
		if i < 3 { // the last tenant never had a task
			l.Enqueued(0, l.Sent(0, 1), 1)
			reads.latest.Store(&readable{ledger: l, id: tenant, identity: ledger.Identity{Round: 42, Sequence: uint64(i)}})
		}
	}
	r.own = r.allReads[0]
	asked := func() (ids []string) {
		for nth := range uint64(4) {
			ids = append(ids, r.foreignTask(nth).id)
		}
		return ids
	}
	assert.Equal(t, []string{"t1", "t1", "t2", "t1"}, asked(), "never the reader's own tenant")
	l.Completing(ledger.Identity{Round: 42, Sequence: 1})
	assert.Equal(t, []string{"t2", "t2", "t2", "t2"}, asked())
	l.Completing(ledger.Identity{Round: 42, Sequence: 2})
	for _, id := range asked() {
		assert.Contains(t, []string{"t1", "t2"}, id, "without a stored task, any earlier task")
	}
	r.allReads = r.allReads[:1]
	assert.Nil(t, r.foreignTask(0))
}

// Every kind of wrong answer is reported with the tenant, the task's id and the difference.
func TestMisreads(t *testing.T) {
	type fault = func(n int, own bool, found *driver.Found, err *error)
	ofOwn := func(spoil func(*driver.Found, *error)) fault {
		return func(n int, own bool, found *driver.Found, err *error) {
			if own && *err == nil && n%10 == 0 {
				spoil(found, err)
			}
		}
	}
	ofForeign := func(spoil func(*driver.Found, *error)) fault {
		return func(_ int, own bool, found *driver.Found, err *error) {
			if !own {
				spoil(found, err)
			}
		}
	}
	answers := func(when error) fault {
		return ofForeign(func(_ *driver.Found, err *error) {
			if errors.Is(*err, when) {
				*err = nil
			}
		})
	}
	for name, c := range map[string]struct {
		fault fault
		says  string
	}{
		"another payload":                 {ofOwn(func(f *driver.Found, _ *error) { f.Payload[50]++ }), "bytes that do not match their checksum"},
		"no payload":                      {ofOwn(func(f *driver.Found, _ *error) { f.Payload = nil }), "the answer's payload is"},
		"another id":                      {ofOwn(func(f *driver.Found, _ *error) { f.ID = "7" }), `the answer has the id "7"`},
		"another queue":                   {ofOwn(func(f *driver.Found, _ *error) { f.Queue = "q9" }), `the answer has the queue "q9"`},
		"another tenant":                  {ofOwn(func(f *driver.Found, _ *error) { f.Tenant = "t9" }), `the answer has the tenant "t9"`},
		"a task that is lost":             {ofOwn(func(_ *driver.Found, err *error) { *err = driver.ErrNotFound }), "got not found"},
		"a task that is denied":           {ofOwn(func(_ *driver.Found, err *error) { *err = driver.ErrDenied }), "access to its own task was denied"},
		"another tenant's task by its id": {answers(driver.ErrNotFound), "cross-tenant read: got a task, expected a refusal"},
		"another tenant's task by name":   {answers(driver.ErrDenied), "cross-tenant read: got a task, expected a refusal"},
		"a refusal that reveals a task": {
			ofForeign(func(_ *driver.Found, err *error) {
				if errors.Is(*err, driver.ErrNotFound) {
					*err = driver.ErrDenied
				}
			}), "cross-tenant read: expected not found",
		},
		"no denial": {
			ofForeign(func(_ *driver.Found, err *error) {
				if errors.Is(*err, driver.ErrDenied) {
					*err = driver.ErrNotFound
				}
			}), "cross-tenant read: expected denied",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := shelved(newBroker())
				b.shelf.fault = c.fault
				cfg := brief(reading(b, nil))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				require.NotZero(t, balance.Misread)
				assert.Less(t, balance.Misread, balance.Reads)
				assert.NotZero(t, o.Reads[0].Account.Wrong)
				assert.Equal(t, balance.Misread, o.Reads[0].Account.Mismatches, "mismatches of the warm-up count too")
				assert.LessOrEqual(t, o.Reads[0].Account.Wrong, balance.Misread)
				assert.Equal(t, o.Reads[0].Account.Answered, o.Reads[0].Account.Found+o.Reads[0].Account.Gone+o.Reads[0].Account.Foreign+o.Reads[0].Account.Wrong)
				assert.Len(t, balance.Samples, 7)
				assert.Regexp(t, `^misread: tenant t\d asked for task \d+ \(producer \d+ task \d+, sent to t\d/q\d\): .`, balance.Samples[0])
				assert.Contains(t, balance.Samples[0], c.says)
				assert.Zero(t, balance.Lost+balance.Corrupted, "only the reads are wrong")
			})
		})
	}
}

// Without tenant tokens the server cannot deny a tenant, so no read names another tenant.
func TestReadersWithoutTokensNameNoOtherTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		cfg := reading(b, nil)
		cfg.Readers.Confined = false
		b.shelf.fault = func(_ int, own bool, _ *driver.Found, err *error) {
			if errors.Is(*err, driver.ErrDenied) {
				*err = nil
			}
		}
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.NotZero(t, o.Reads[0].Account.ForeignStored)
		assert.Zero(t, cfg.Ledger.Balance().Misread, "%v", cfg.Ledger.Balance().Samples)
	})
}

// With several workloads, cross-tenant reads use the tenants of all workloads.
func TestReadsOfTheTasksOfOtherWorkloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		one := func(w *scenario.Workload) { w.Tenants = 1 }
		first := reading(b, one)
		second := reading(b, func(w *scenario.Workload) { w.Tenants, w.FirstTenant = 1, 1 })
		outcomes, err := RunAll(t.Context(), first, second)
		require.NoError(t, err)
		for i, o := range outcomes {
			assert.NotZero(t, o.Reads[0].Account.ForeignStored, "workload %d", i)
		}
		assert.Zero(t, first.Ledger.Balance().Misread+second.Ledger.Balance().Misread)

		alone, err := Run(t.Context(), reading(shelved(newBroker()), one))
		require.NoError(t, err)
		assert.NotZero(t, alone.Reads[0].Account.Answered)
		assert.Zero(t, alone.Reads[0].Account.Foreign, "a single tenant has no cross-tenant reads")
	})
}

// Reads that exceed the capacity of the readers are dropped and counted. Producers do not wait for
// them.
func TestSlowReadsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := func(delay time.Duration) *Outcome {
			b := shelved(newBroker())
			b.shelf.delay = delay
			o, err := Run(t.Context(), reading(b, nil))
			require.NoError(t, err)
			return o
		}
		quick, slow := rate(0), rate(100*time.Millisecond)
		assert.Zero(t, quick.Reads[0].Account.Dropped)
		assert.NotZero(t, slow.Reads[0].Account.Dropped)
		assert.InEpsilon(t, 2*4*10*2, slow.Reads[0].Account.Answered, 0.05, "four readers of each of two tenants, ten a second each, for two seconds")
		assert.Equal(t, quick.Cycles, slow.Cycles, "the writers don't wait for reads")
	})
}

func TestReadsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		b.shelf.call = breakAfter(2 * time.Second)
		launched := time.Now()
		_, err := Run(t.Context(), reading(b, nil))
		require.ErrorIs(t, err, errBroken)
		require.ErrorContains(t, err, "load: read of task ")
		assert.Less(t, time.Since(launched), 2100*time.Millisecond, "the load stops at once")

		b = shelved(newBroker())
		b.shelf.call = breakAfter(2 * time.Second)
		cfg := reading(b, nil)
		cfg.Persist = true
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.NotZero(t, o.FailedCalls.Count)
		assert.Contains(t, o.FailedCalls.First, "load: read of task ")
		assert.Zero(t, cfg.Ledger.Balance().Misread, "a read without an answer is not a misread")
	})
}

func TestReadsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		b.shelf.call = func(context.Context) error { return fmt.Errorf("%w: later", driver.ErrFull) }
		cfg := reading(b, nil)
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.NotZero(t, o.Reads[0].Account.Refused)
		assert.Zero(t, o.Reads[0].Account.Answered)
		assert.Zero(t, cfg.Ledger.Balance().Reads)
	})
}

// A read that hangs does not keep the load from ending.
func TestReadsThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		b.shelf.call = blocked
		cfg := reading(b, nil)
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.True(t, o.Drained)
		assert.Equal(t, result.Reads{Dropped: o.Reads[0].Account.Dropped}, o.Reads[0].Account)
	})
}

func TestADriverWithoutIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := shelved(newBroker())
		b.shelf = nil
		_, err := Run(t.Context(), reading(b, nil))
		require.ErrorIs(t, err, errNoIDs)
	})
}

func TestReadersThatAreMissing(t *testing.T) {
	b := newBroker()
	cfg := reading(b, nil)
	cfg.Readers.Of = cfg.Readers.Of[:1]
	cfg.Workload.Reads = scenario.Reads{Get: 0.5}
	_, err := Run(t.Context(), cfg)
	s := golden.Cases(t, "testdata/readers.golden")
	s.Error(t, "too few", err)
	cfg.Workload.Reads = scenario.Reads{Get: 1}
	_, err = Run(t.Context(), cfg)
	s.Error(t, "a share of all", err)
}

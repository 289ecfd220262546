package access

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

func (f *fixture) configure(tenant string, q Quotas) {
	f.Helper()
	out, err := f.ConfigureTenant(context.Background(), f.operator, tenant, q)
	require.NoError(f, err)
	assert.Equal(f, tenant, out.Name)
	assert.Equal(f, q, out.Quotas)
}

// requireQuota checks the quota that refused tenant "t", and returns the retry delay.
func requireQuota(t *testing.T, quota string, maximum uint64, err error) (retryMs uint64) {
	t.Helper()
	var e *queue.QuotaError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "t", e.Tenant)
	assert.Equal(t, quota, e.Quota)
	assert.Equal(t, maximum, e.Max)
	assert.Positive(t, e.RetryAfterMs)
	return e.RetryAfterMs
}

// TestAnAccountCountsAsAModelDoes compares an account with a model under random calls and changes
// of quotas.
func TestAnAccountCountsAsAModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(Options{})
		defer r.Close()
		require.NoError(t, r.Load(context.Background(), &memory{}))
		a := r.Account("t")
		var tasks, bytes, leases int64
		var q Quotas
		allows := func(held, n int64, quota uint64) bool { return quota == 0 || held+n <= int64(quota) }
		small := rapid.Int64Range(0, 8)
		t.Repeat(map[string]func(*rapid.T){
			"quotas": func(t *rapid.T) {
				q = Quotas{TasksMax: uint64(small.Draw(t, "tasks")), BytesMax: uint64(small.Draw(t, "bytes")), LeasesMax: uint64(small.Draw(t, "leases"))}
				_, err := r.ConfigureTenant(context.Background(), Everybody(), "t", q)
				require.NoError(t, err)
			},
			"add": func(t *rapid.T) {
				n := small.Draw(t, "n")
				err := a.Add(n)
				fits := allows(tasks, 1, q.TasksMax) && (n == 0 || allows(bytes, n, q.BytesMax))
				require.Equal(t, fits, err == nil)
				if fits {
					tasks, bytes = tasks+1, bytes+n
				}
			},
			"remove": func(t *rapid.T) {
				n, b := min(tasks, small.Draw(t, "tasks")), min(bytes, small.Draw(t, "bytes"))
				a.Remove(n, b)
				tasks, bytes = tasks-n, bytes-b
			},
			"lease": func(t *rapid.T) {
				n := small.Draw(t, "n")
				want := n
				for !allows(leases, want, q.LeasesMax) && want > 0 {
					want--
				}
				require.Equal(t, int(want), a.Lease(int(n)))
				leases += want
			},
			"end": func(t *rapid.T) {
				n := min(leases, small.Draw(t, "n"))
				a.EndLeases(int(n))
				leases -= n
			},
			"restore": func(t *rapid.T) {
				n, b, l := small.Draw(t, "tasks"), small.Draw(t, "bytes"), small.Draw(t, "leases")
				a.Restore(n, b, l)
				tasks, bytes, leases = tasks+n, bytes+b, leases+l
			},
			"": func(t *rapid.T) {
				got, _, err := r.Tenants(Everybody(), "", TenantsMax)
				require.NoError(t, err)
				require.Equal(t, []Tenant{{Name: "t", Quotas: q, Tasks: uint64(tasks), Bytes: uint64(bytes), Leases: uint64(leases)}}, got)
			},
		})
	})
}

// TestQuotasHoldUnderConcurrency makes many shards reserve and free room while other goroutines
// check the counts.
func TestQuotasHoldUnderConcurrency(t *testing.T) {
	const shards, each, size = 8, 3_000, 3
	q := Quotas{TasksMax: 5, BytesMax: 4 * size, LeasesMax: 3}
	f := newFixture(t)
	f.configure("t", q)
	var tasks, leases atomic.Int64 // held by the shards, counted after the account allowed them
	var added, refused atomic.Int64
	var wg sync.WaitGroup
	for range shards {
		a := f.Account("t")
		wg.Go(func() {
			for range each {
				err := a.Add(size)
				if err == nil {
					added.Add(1)
					if n := tasks.Add(1); n > 4 {
						t.Errorf("%d tasks of %d bytes with a quota of %d bytes", n, size, q.BytesMax)
					}
				} else {
					refused.Add(1)
				}
				got := a.Lease(2)
				if n := leases.Add(int64(got)); n > int64(q.LeasesMax) {
					t.Errorf("%d leases with a quota of %d", n, q.LeasesMax)
				}
				if count(&a.(*account).tasks) > q.TasksMax || count(&a.(*account).bytes) > q.BytesMax || count(&a.(*account).leases) > q.LeasesMax {
					t.Error("a count exceeds its quota")
				}
				leases.Add(-int64(got))
				a.EndLeases(got)
				if err == nil {
					tasks.Add(-1)
					a.Remove(1, size)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, shards*each, added.Load()+refused.Load())
	assert.Equal(t, Tenant{Name: "t", Quotas: q}, f.tenant("t"), "all room was freed")
	a := f.Account("t")
	for range 4 {
		require.NoError(t, a.Add(size))
	}
	requireQuota(t, "bytes_max", 4*size, a.Add(size))
	require.NoError(t, a.Add(0))
	requireQuota(t, "tasks_max", 5, a.Add(0))
}

// TestOneLeaseIsOneLease makes goroutines compete for a single lease. Without an atomic check and
// increment, two of them could get it.
func TestOneLeaseIsOneLease(t *testing.T) {
	f := newFixture(t)
	f.configure("t", Quotas{LeasesMax: 1})
	a := f.Account("t")
	var held atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1_000_000 {
				if a.Lease(1) == 0 {
					continue
				}
				if held.Add(1) > 1 {
					t.Error("two goroutines got the lease")
				}
				held.Add(-1)
				a.EndLeases(1)
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 1, a.Lease(1))
}

func TestQuotasChangeAtRunTime(t *testing.T) {
	f := newFixture(t)
	a := f.Account("t")
	for range 3 {
		require.NoError(t, a.Add(10))
	}
	assert.Equal(t, 3, a.Lease(3))
	f.configure("t", Quotas{TasksMax: 2, LeasesMax: 2})
	requireQuota(t, "tasks_max", 2, a.Add(10))
	assert.Zero(t, a.Lease(1))
	requireQuota(t, "leases_max", 2, f.CheckLeases("t"))
	require.NoError(t, f.CheckLeases("other"))
	a.Remove(2, 20)
	a.EndLeases(2)
	require.NoError(t, f.CheckLeases("t"))
	require.NoError(t, a.Add(10))
	assert.Equal(t, 1, a.Lease(5))
	requireQuota(t, "tasks_max", 2, a.Add(10))
	f.configure("t", Quotas{BytesMax: math.MaxInt64})
	require.NoError(t, f.CheckLeases("t"), "no quota of leases")
	require.NoError(t, a.Add(10))
	assert.Equal(t, 5, a.Lease(5))
	f.configure("t", Quotas{})
	require.NoError(t, a.Add(math.MaxInt32))
	a.Restore(-100, -1<<40, -100)
	f.configure("t", Quotas{TasksMax: math.MaxInt64, BytesMax: math.MaxInt64, LeasesMax: math.MaxInt64})
	require.NoError(t, a.Add(1), "a negative count does not overflow")
	assert.Equal(t, 1, a.Lease(1))
	assert.Equal(t, uint64(0), f.tenant("t").Tasks)
}

func TestTenantsComeAndGo(t *testing.T) {
	f := newFixture(t)
	f.configure("quota", Quotas{TasksMax: 1})
	f.create(NewToken{Tenant: "token", Scopes: Work})
	f.create(NewToken{Tenant: AllTenants, Scopes: Work})
	require.NoError(t, f.Account("queue").Add(7))
	assert.Equal(t, 1, f.Account("queue").Lease(1))
	require.NoError(t, f.TakeEnqueues("asked", 1))
	require.NoError(t, f.CheckPayload("asked", 1<<40))
	names := func() (names []string) {
		tenants, _, err := f.Tenants(f.operator, "", TenantsMax)
		require.NoError(t, err)
		for _, tenant := range tenants {
			names = append(names, fmt.Sprint(tenant.Name, tenant.Tasks, tenant.Bytes, tenant.Leases))
		}
		return names
	}
	assert.Equal(t, []string{"queue1 7 1", "quota0 0 0", "token0 0 0"}, names())
	f.configure("quota", Quotas{})
	f.configure("never", Quotas{})
	f.configure("queue", Quotas{TasksMax: 9})
	f.configure("queue", Quotas{})
	assert.Equal(t, []string{"queue1 7 1", "token0 0 0"}, names())
	requireKeys(t, f.memory, 2)

	for _, field := range []struct {
		name string
		q    Quotas
	}{
		{"quotas.tasks_max", Quotas{TasksMax: 1 << 63}},
		{"quotas.bytes_max", Quotas{BytesMax: 1 << 63}},
		{"quotas.enqueues_per_s_max", Quotas{EnqueuesPerSMax: 1 << 63}},
		{"quotas.leases_max", Quotas{LeasesMax: math.MaxUint64}},
		{"quotas.payload_bytes_max", Quotas{PayloadBytesMax: 1 << 63}},
	} {
		_, err := f.ConfigureTenant(context.Background(), f.operator, "t", field.q)
		requireField(t, field.name, err)
	}
	for _, name := range []string{"", "*", "a b"} {
		_, err := f.ConfigureTenant(context.Background(), f.operator, name, Quotas{TasksMax: 1})
		requireField(t, "tenant", err)
	}
	requireKeys(t, f.memory, 2)
}

func requireKeys(t *testing.T, m *memory, n int) {
	t.Helper()
	require.Len(t, m.snapshot(), n)
}

func TestThereAreNotTooManyTenants(t *testing.T) {
	m := &memory{records: map[string][]byte{}}
	for i := range TenantsMax {
		r := encodeTenant(fmt.Sprint(i), Quotas{TasksMax: 1})
		m.records[r.Key] = r.Value
	}
	f := load(t, m, newClock())
	_, err := f.ConfigureTenant(context.Background(), f.operator, "new", Quotas{TasksMax: 1})
	require.ErrorIs(t, err, ErrTooMany)
	f.configure("7", Quotas{TasksMax: 2})
	f.configure("7", Quotas{})
	f.configure("new", Quotas{TasksMax: 1})
}

func TestPayloadsHaveAQuota(t *testing.T) {
	f := newFixture(t)
	assert.Equal(t, math.MaxInt, f.PayloadBytesMax("t"))
	f.configure("t", Quotas{PayloadBytesMax: 10})
	require.NoError(t, f.CheckPayload("t", 10))
	requireQuota(t, "payload_bytes_max", 10, f.CheckPayload("t", 11))
	require.NoError(t, f.CheckPayload("other", 11))
	f.configure("t", Quotas{TasksMax: 1})
	require.NoError(t, f.CheckPayload("t", 11))
}

func TestTheRateOfEnqueuesHasAQuota(t *testing.T) {
	f := newFixture(t)
	f.configure("t", Quotas{EnqueuesPerSMax: 10})
	f.clock.pass(time.Hour) // the tenant saves the enqueues of a second, not of an hour
	for range 10 {
		require.NoError(t, f.TakeEnqueues("t", 1))
	}
	wait := requireQuota(t, "enqueues_per_s_max", 10, f.TakeEnqueues("t", 1))
	assert.EqualValues(t, 100, wait)
	require.NoError(t, f.TakeEnqueues("other", 1_000))
	f.clock.pass(99 * time.Millisecond)
	wait = requireQuota(t, "enqueues_per_s_max", 10, f.TakeEnqueues("t", 1))
	assert.EqualValues(t, 1, wait)
	f.clock.pass(time.Millisecond)
	require.NoError(t, f.TakeEnqueues("t", 1))

	// A call of more than a second's enqueues needs a full burst, and is paid afterwards.
	requireQuota(t, "enqueues_per_s_max", 10, f.TakeEnqueues("t", 100))
	f.clock.pass(time.Second)
	require.NoError(t, f.TakeEnqueues("t", 100))
	wait = requireQuota(t, "enqueues_per_s_max", 10, f.TakeEnqueues("t", 1))
	assert.EqualValues(t, 9_100, wait)
	f.clock.pass(9_100 * time.Millisecond)
	require.NoError(t, f.TakeEnqueues("t", 1))

	f.configure("t", Quotas{EnqueuesPerSMax: 1_000_000})
	f.clock.pass(time.Second)
	require.NoError(t, f.TakeEnqueues("t", 1_000_000))
	f.configure("t", Quotas{TasksMax: 1})
	require.NoError(t, f.TakeEnqueues("t", 1_000_000))
}

// TestTheRateHoldsOverAnyTime checks, for random calls and pauses, that the accepted enqueues never
// exceed the rate by more than the enqueues of a second plus the last call, and that the delay of a
// refusal is exact.
func TestTheRateHoldsOverAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Uint64Range(1, 5_000_000).Draw(t, "rate")
		a := &account{tenant: "t"}
		start := rapid.Int64Range(0, 1<<60).Draw(t, "start")
		now, taken := start, 0.0
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) { now += rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "ns") },
			"take": func(t *rapid.T) {
				n := rapid.IntRange(1, 1_000).Draw(t, "n")
				if wait := a.enqueues(n, rate, now); wait > 0 {
					require.Zero(t, a.enqueues(n, rate, now+int64(wait)), "accepted after the wait")
					now += int64(wait)
				}
				allowed := float64(rate) * (float64(now-start)/1e9 + 1)
				require.LessOrEqual(t, taken, allowed+1, "enqueues before the call")
				taken += float64(n)
			},
		})
	})
}

func TestCostsOfEnqueuesStayInRange(t *testing.T) {
	assert.EqualValues(t, 1e8, enqueuesCost(1, 10))
	assert.EqualValues(t, 1, enqueuesCost(1, math.MaxInt64))
	assert.EqualValues(t, 334, enqueuesCost(1_000, 3_000_000_000), "rounded up: the rate is never exceeded")
	assert.EqualValues(t, enqueuesCostMax, enqueuesCost(math.MaxInt, 1))
	assert.EqualValues(t, enqueuesCostMax, enqueuesCost(math.MaxInt, 1_000_000))
	assert.Positive(t, enqueuesCost(math.MaxInt, math.MaxInt64))
}

// TestConcurrentEnqueuesShareTheRate also serves the race detector.
func TestConcurrentEnqueuesShareTheRate(t *testing.T) {
	f := newFixture(t)
	f.configure("t", Quotas{EnqueuesPerSMax: 1_000})
	var let atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				err := f.TakeEnqueues("t", 1)
				var quota *queue.QuotaError
				if err == nil {
					let.Add(1)
				} else if !errors.As(err, &quota) {
					t.Errorf("unexpected: %v", err)
				}
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1_000, let.Load())
}

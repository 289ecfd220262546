package access

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/queue"
)

// The fixed retry delays of refusals.
const (
	roomRetryMs    = 1_000  // workers may complete tasks in this time
	payloadRetryMs = 60_000 // only a larger quota helps
)

// account counts the usage of one tenant over all shards. The counts are always exact. Add and
// Lease keep them within the quotas. After Restore or a reduction of a quota, they may exceed the
// quotas until tasks are completed.
type account struct {
	tenant string
	quotas atomic.Pointer[Quotas] // nil without quotas
	// A shard uses the account: the tenant has queues. Guarded by Registry.opening.
	held bool

	// The node's share of the quotas in a cluster. The usage of a recovered shard is added to the
	// limits and to the counts.
	sharing *sharing // nil without a cluster
	// Bounds of the usage at this node.
	limits [kinds]atomic.Int64
	// What the node lacked since its last report; for kindEnqueues, the number of enqueues since
	// demandSince.
	wants [kinds]atomic.Int64
	// Enqueues per second in the last demandWindow; owned by the reporting goroutine.
	demanded    int64
	demandSince time.Duration // when demandWindow began; owned by the reporting goroutine

	tasks, bytes, leases atomic.Int64
	// The time until which the tenant's enqueues are paid, in the registry's time; see enqueues.
	paidNs atomic.Int64
}

var _ queue.Account = (*account)(nil)

// Account returns the account of a tenant, which all shards share. The registry keeps the account,
// so there are as many accounts as tenants with queues or quotas.
func (r *Registry) Account(tenant string) queue.Account {
	r.opening.Lock()
	defer r.opening.Unlock()
	a := r.openAccountLocked(tenant)
	a.held = true
	return a
}

// openAccountLocked returns the account of a tenant, which it creates if necessary. The caller
// holds r.opening.
func (r *Registry) openAccountLocked(tenant string) *account {
	a, _ := r.accounts.LoadOrStore(tenant, &account{tenant: tenant, sharing: r.sharing})
	return a.(*account)
}

// setQuotas sets the quotas of a tenant. It removes an account without quotas that no shard uses.
func (r *Registry) setQuotas(tenant string, q Quotas) {
	r.opening.Lock()
	defer r.opening.Unlock()
	a := r.openAccountLocked(tenant)
	if q != (Quotas{}) {
		if a.sharing != nil {
			a.begin(a.quotas.Load(), q)
		}
		a.quotas.Store(&q)
		return
	}
	a.quotas.Store(nil)
	if !a.held {
		r.accounts.Delete(tenant)
	}
}

// Add implements queue.Account. Near the quota of bytes, it may refuse a task because a concurrent
// Add has reserved room that it is about to free.
func (a *account) Add(bytes int64) error {
	q := a.quotas.Load()
	if q == nil {
		a.tasks.Add(1)
		a.bytes.Add(bytes)
		return nil
	}
	if a.take(&a.tasks, 1, kindTasks, q.TasksMax) == 0 {
		return a.refusal(quotaTasks, q.TasksMax, a.retryMs(kindTasks, q.TasksMax))
	}
	if !a.takeAll(&a.bytes, bytes, kindBytes, q.BytesMax) {
		a.tasks.Add(-1)
		return a.refusal(quotaBytes, q.BytesMax, a.retryMs(kindBytes, q.BytesMax))
	}
	return nil
}

// Charge implements queue.Account.
func (a *account) Charge(bytes int64) error {
	q := a.quotas.Load()
	if q == nil {
		a.bytes.Add(bytes)
		return nil
	}
	if !a.takeAll(&a.bytes, bytes, kindBytes, q.BytesMax) {
		return a.refusal(quotaBytes, q.BytesMax, a.retryMs(kindBytes, q.BytesMax))
	}
	return nil
}

// Remove implements queue.Account.
func (a *account) Remove(tasks, bytes int64) {
	a.tasks.Add(-tasks)
	a.bytes.Add(-bytes)
}

// Lease implements queue.Account.
func (a *account) Lease(n int) int {
	q := a.quotas.Load()
	if q == nil {
		a.leases.Add(int64(n))
		return n
	}
	return int(a.take(&a.leases, int64(n), kindLeases, q.LeasesMax))
}

// EndLeases implements queue.Account.
func (a *account) EndLeases(n int) { a.leases.Add(-int64(n)) }

// Restore implements queue.Account.
func (a *account) Restore(tasks, bytes, leases int64) {
	// Raise limits after the counts and lower them before, so that no room appears in between.
	if a.sharing != nil {
		a.limits[kindTasks].Add(min(0, tasks))
		a.limits[kindBytes].Add(min(0, bytes))
		a.limits[kindLeases].Add(min(0, leases))
		defer func() {
			a.limits[kindTasks].Add(max(0, tasks))
			a.limits[kindBytes].Add(max(0, bytes))
			a.limits[kindLeases].Add(max(0, leases))
		}()
	}
	a.tasks.Add(tasks)
	a.bytes.Add(bytes)
	a.leases.Add(leases)
}

// room returns how many a quota allows in addition to held. A count may be negative while a shard
// stops.
func (a *account) room(held int64, kind int, quota uint64) int64 {
	if quota == 0 {
		return math.MaxInt64 - max(0, held)
	}
	return max(0, a.bound(kind, quota)-max(0, held))
}

// take adds up to n to the count, within the quota, and returns the number added.
func (a *account) take(count *atomic.Int64, n int64, kind int, quota uint64) int64 {
	for {
		held := count.Load()
		allowed := min(n, a.room(held, kind, quota))
		if allowed == 0 || count.CompareAndSwap(held, held+allowed) {
			if allowed < n {
				a.lack(kind, n-allowed)
			}
			return allowed
		}
	}
}

// takeAll adds n to the count if the quota allows all of them.
func (a *account) takeAll(count *atomic.Int64, n int64, kind int, quota uint64) bool {
	for {
		held := count.Load()
		if n > a.room(held, kind, quota) {
			a.lack(kind, n)
			return false
		}
		if count.CompareAndSwap(held, held+n) {
			return true
		}
	}
}

// count returns a count, or 0 if it is negative, which can happen briefly while a shard starts or
// stops.
func count(c *atomic.Int64) uint64 { return uint64(max(0, c.Load())) }

func (a *account) refusal(quota string, maximum, retryMs uint64) *queue.QuotaError {
	return &queue.QuotaError{Tenant: a.tenant, Quota: quota, Max: maximum, RetryAfterMs: retryMs}
}

// enqueuesBurst bounds the unused rate that a tenant can save, in nanoseconds of the rate.
const enqueuesBurst = int64(time.Second)

// TakeEnqueues takes n enqueues from the tenant's rate, or returns a *queue.QuotaError if the rate
// does not allow them now. A tenant that has saved a full burst may make a call larger than the
// burst; later calls then wait until it is paid. So the rate holds over time for calls of any size.
func (r *Registry) TakeEnqueues(tenant string, n int) error {
	found, ok := r.accounts.Load(tenant)
	if !ok {
		return nil
	}
	a := found.(*account)
	q := a.quotas.Load()
	if q == nil || q.EnqueuesPerSMax == 0 {
		return nil
	}
	rate := q.EnqueuesPerSMax
	if a.sharing != nil {
		a.wants[kindEnqueues].Add(int64(n))
		if rate = uint64(max(0, a.bound(kindEnqueues, rate))); rate == 0 {
			a.sharing.wake()
			return a.refusal(quotaEnqueues, q.EnqueuesPerSMax, shareRetryMs)
		}
	}
	if wait := a.enqueues(n, rate, int64(r.elapsed())); wait > 0 {
		if a.sharing != nil {
			a.sharing.wake()
		}
		return a.refusal(quotaEnqueues, q.EnqueuesPerSMax, uint64((wait+time.Millisecond-1)/time.Millisecond))
	}
	return nil
}

// ReturnEnqueues returns n enqueues of TakeEnqueues that this node did not execute, because another
// node counts them.
func (r *Registry) ReturnEnqueues(tenant string, n int) {
	found, ok := r.accounts.Load(tenant)
	if !ok {
		return
	}
	a := found.(*account)
	q := a.quotas.Load()
	if q == nil || q.EnqueuesPerSMax == 0 {
		return
	}
	rate := q.EnqueuesPerSMax
	if a.sharing != nil {
		a.wants[kindEnqueues].Add(-int64(n))
		rate = uint64(max(1, a.bound(kindEnqueues, rate)))
	}
	a.paidNs.Add(-enqueuesCost(n, rate))
}

// enqueues is a token bucket in one number: the time until which the previous enqueues are paid at
// the rate. A call may advance that time to at most enqueuesBurst ahead of now; a call larger than
// the burst counts as a burst here. enqueues takes n and returns 0, or returns the wait until n are
// allowed.
func (a *account) enqueues(n int, rate uint64, now int64) time.Duration {
	cost := enqueuesCost(n, rate)
	for {
		paid := a.paidNs.Load()
		from := max(paid, now)
		if ahead := from + min(cost, enqueuesBurst) - now; ahead > enqueuesBurst {
			return time.Duration(ahead - enqueuesBurst)
		}
		if a.paidNs.CompareAndSwap(paid, from+cost) {
			return 0
		}
	}
}

// enqueuesCostMax prevents overflows of times: about 36 years.
const enqueuesCostMax = uint64(1) << 60

// enqueuesCost returns the nanoseconds that n enqueues take at a rate, rounded up.
func enqueuesCost(n int, rate uint64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(time.Second))
	if high >= rate {
		return int64(enqueuesCostMax)
	}
	cost, rest := bits.Div64(high, low, rate)
	if rest > 0 {
		cost++
	}
	return int64(min(cost, enqueuesCostMax))
}

// CheckLeases returns a *queue.QuotaError if the tenant's quota of leases is exhausted, so that a
// claim would get no task.
func (r *Registry) CheckLeases(tenant string) error {
	found, ok := r.accounts.Load(tenant)
	if !ok {
		return nil
	}
	a := found.(*account)
	if q := a.quotas.Load(); q != nil && a.room(a.leases.Load(), kindLeases, q.LeasesMax) == 0 {
		return a.refusal(quotaLeases, q.LeasesMax, a.retryMs(kindLeases, q.LeasesMax))
	}
	return nil
}

// CheckPayload returns a *queue.QuotaError if a payload is larger than the tenant's quota.
func (r *Registry) CheckPayload(tenant string, bytes int) error {
	if most := r.PayloadBytesMax(tenant); bytes > most {
		return &queue.QuotaError{Tenant: tenant, Quota: quotaPayload, Max: uint64(most), RetryAfterMs: payloadRetryMs}
	}
	return nil
}

// PayloadBytesMax returns the largest payload size of the tenant, or math.MaxInt without a quota.
func (r *Registry) PayloadBytesMax(tenant string) int {
	if found, ok := r.accounts.Load(tenant); ok {
		if q := found.(*account).quotas.Load(); q != nil && q.PayloadBytesMax != 0 {
			return int(q.PayloadBytesMax)
		}
	}
	return math.MaxInt
}

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
	roomRetryMs    = 1_000  // workers may complete tasks until then
	payloadRetryMs = 60_000 // the same call fails again unless the quota is raised
)

// account counts the usage of one tenant in all shards. The counts are exact. Add, Charge and Lease
// keep the counts within the quotas. After Restore or a reduction of a quota, the counts may exceed
// the quotas until tasks are completed.
type account struct {
	tenant string
	quotas atomic.Pointer[Quotas] // nil without quotas
	// held is true if a shard uses the account, because the tenant has queues. Registry.opening
	// guards it.
	held bool

	// The following fields contain the node's share of the quotas in a cluster. When a shard is
	// recovered, its usage is added both to the limits and to the counts.
	sharing *sharing // nil without a cluster
	// limits contains the maximum usage at this node, by kind of quota.
	limits [kinds]atomic.Int64
	// wants contains, by kind, what the node lacked since its last report. For kindEnqueues it is
	// the number of enqueues since demandSince.
	wants [kinds]atomic.Int64
	// demanded is the number of enqueues per second in the last demandWindow; owned by the
	// reporting goroutine.
	demanded    int64
	demandSince time.Duration // time when demandWindow began; owned by the reporting goroutine

	tasks, bytes, leases atomic.Int64
	// paidNs is the state of the token bucket for the rate of enqueues, in the registry's time; see
	// enqueues.
	paidNs atomic.Int64
}

var _ queue.Account = (*account)(nil)

// Account returns the account of a tenant. All shards share it. The registry never removes it, so
// there is an account for each tenant that has quotas or ever had queues.
func (r *Registry) Account(tenant string) queue.Account {
	r.opening.Lock()
	defer r.opening.Unlock()
	a := r.openAccountLocked(tenant)
	a.held = true
	return a
}

// openAccountLocked returns the account of a tenant. If there is none, it creates the account. The
// caller must hold r.opening.
func (r *Registry) openAccountLocked(tenant string) *account {
	a, found := r.accounts.LoadOrStore(tenant, &account{tenant: tenant, sharing: r.sharing})
	if !found {
		r.changeNameLocked(tenant, func(n *tenantName) { n.account = true })
	}
	return a.(*account)
}

// setQuotas sets the quotas of a tenant. If q is zero, it removes the quotas, and also the account
// if no shard uses it.
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
		r.changeNameLocked(tenant, func(n *tenantName) { n.account = false })
	}
}

// Add implements queue.Account. Near the quota of tasks, it may refuse a task because a concurrent
// Add, which the quota of bytes refuses, has not yet returned its reservation.
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
	// Raise the limits after the counts, and lower them before the counts. Otherwise calls in
	// between could use room that does not exist.
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

// room returns how much a quota allows in addition to held, which is the current count. A count may
// be negative while a shard stops.
func (a *account) room(held int64, kind int, quota uint64) int64 {
	if quota == 0 {
		return math.MaxInt64 - max(0, held)
	}
	return max(0, a.bound(kind, quota)-max(0, held))
}

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

// count returns the value of a counter, or 0 if the counter is negative. This can happen briefly
// while a shard starts or stops.
func count(c *atomic.Int64) uint64 { return uint64(max(0, c.Load())) }

func (a *account) refusal(quota string, maximum, retryMs uint64) *queue.QuotaError {
	return &queue.QuotaError{Tenant: a.tenant, Quota: quota, Max: maximum, RetryAfterMs: retryMs}
}

// enqueuesBurst limits the unused enqueues that a tenant can save: to as many as the rate allows in
// this time, in nanoseconds.
const enqueuesBurst = int64(time.Second)

// TakeEnqueues takes n enqueues from the tenant's rate, or returns a *queue.QuotaError if the rate
// does not allow them now. A call that is larger than a burst is allowed once a full burst is
// saved. Later calls are then refused until the rate has made up for the whole call. So over time,
// the rate is not exceeded, whatever the size of calls.
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

// ReturnEnqueues undoes TakeEnqueues for n enqueues that another node executes, because that node
// counts them too.
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

// enqueues implements a token bucket whose state is one number, paidNs: the time at which the rate
// will have made up for all previous enqueues. A call advances this time by its cost, and is
// allowed only if the time is then at most enqueuesBurst after now. For this check, the cost of a
// call is at most a burst. enqueues takes n and returns 0, or takes nothing and returns the wait
// until n enqueues are allowed.
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

// enqueuesCostMax, about 36 years in nanoseconds, prevents overflows of times.
const enqueuesCostMax = uint64(1) << 60

// enqueuesCost returns the time, in nanoseconds rounded up, in which the rate allows n enqueues.
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

// PayloadBytesMax returns the maximum size of the tenant's payloads, or math.MaxInt if there is no
// quota.
func (r *Registry) PayloadBytesMax(tenant string) int {
	if found, ok := r.accounts.Load(tenant); ok {
		if q := found.(*account).quotas.Load(); q != nil && q.PayloadBytesMax != 0 {
			return int(q.PayloadBytesMax)
		}
	}
	return math.MaxInt
}

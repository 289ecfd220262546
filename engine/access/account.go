package access

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/queue"
)

// How soon a refused call is worth trying again, where the quota itself does not say.
const (
	roomRetryMs    = 1_000  // tasks are being worked off
	payloadRetryMs = 60_000 // only another quota helps
)

// account counts what one tenant holds over all shards. Its counts are exact at every moment and never above a quota
// through Add and Lease; Restore, and a quota that is lowered, can leave them above it until tasks are done.
type account struct {
	tenant string
	quotas atomic.Pointer[Quotas] // nil means none
	held   bool                   // a shard has asked for it: the tenant has queues. Guarded by Registry.opening

	// The node's share of quotas that the nodes of a cluster share. What a recovered shard holds is added to limits as to the
	// counts.
	sharing     *sharing            // nil without a cluster
	limits      [kinds]atomic.Int64 // this node admits up to these
	wants       [kinds]atomic.Int64 // what the node lacked since its last report; for kindEnqueues, the number of enqueues since demandSince
	demanded    int64               // enqueues per second in the last demandWindow; owned by the reporting goroutine
	demandSince time.Duration       // when demandWindow began; owned by the reporting goroutine

	tasks, bytes, leases atomic.Int64
	paidNs               atomic.Int64 // until when the tenant's enqueues are paid for, in the registry's time; see enqueues
}

var _ queue.Account = (*account)(nil)

// Account returns the account of a tenant, which all shards share. It is kept from then on: as many are made as
// tenants have queues.
func (r *Registry) Account(tenant string) queue.Account {
	r.opening.Lock()
	defer r.opening.Unlock()
	a := r.openAccount(tenant)
	a.held = true
	return a
}

// openAccount is called with r.opening locked.
func (r *Registry) openAccount(tenant string) *account {
	a, _ := r.accounts.LoadOrStore(tenant, &account{tenant: tenant, sharing: r.sharing})
	return a.(*account)
}

// setQuotas makes quotas count. An account that has none and that no shard holds is not kept.
func (r *Registry) setQuotas(tenant string, q Quotas) {
	r.opening.Lock()
	defer r.opening.Unlock()
	a := r.openAccount(tenant)
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

// Add implements queue.Account. At the quota of bytes, a task that another Add takes back just then counts as held.
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
	if a.sharing != nil { // raise limits after the counts, lower them before: no room appears in between
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

// room returns how many more than held a quota allows. A count may be below zero while a shard is let go.
func (a *account) room(held int64, kind int, quota uint64) int64 {
	if quota == 0 {
		return math.MaxInt64 - max(0, held)
	}
	return max(0, a.bound(kind, quota)-max(0, held))
}

// take counts up to n more, as many as the quota allows, and returns how many.
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

// takeAll counts n more if the quota allows all of them.
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

// count reads a count; a shard that starts or stops may leave it below zero for a moment.
func count(c *atomic.Int64) uint64 { return uint64(max(0, c.Load())) }

func (a *account) refusal(quota string, maximum, retryMs uint64) *queue.QuotaError {
	return &queue.QuotaError{Tenant: a.tenant, Quota: quota, Max: maximum, RetryAfterMs: retryMs}
}

// enqueuesBurst is how much of its rate a tenant may save up.
const enqueuesBurst = int64(time.Second)

// TakeEnqueues takes n enqueues from what a tenant's rate allows; it returns a *queue.QuotaError if they are too many
// just now. A call that is larger than a second's worth is let through when the tenant has saved up all it can, and
// the tenant then pays it off: the rate holds over time whatever the size of calls.
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

// ReturnEnqueues gives back n enqueues that TakeEnqueues took and this node did not execute, because another node counts them.
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

// enqueues is a token bucket kept as one number: the time until which the enqueues so far are paid for at the rate. It
// may lie ahead of now by enqueuesBurst. It returns how long to wait if n more are too many now.
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

// enqueuesCostMax keeps the arithmetic of times far from its limits: about 36 years.
const enqueuesCostMax = uint64(1) << 60

// enqueuesCost is how many nanoseconds of the rate n enqueues take, rounded up.
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

// CheckLeases returns a *queue.QuotaError if the tenant is at its quota of leases: what is claimed now gets nothing.
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

// CheckPayload returns a *queue.QuotaError if a payload is larger than the tenant's tasks may have.
func (r *Registry) CheckPayload(tenant string, bytes int) error {
	if most := r.PayloadBytesMax(tenant); bytes > most {
		return &queue.QuotaError{Tenant: tenant, Quota: quotaPayload, Max: uint64(most), RetryAfterMs: payloadRetryMs}
	}
	return nil
}

// PayloadBytesMax returns how many bytes one payload of the tenant may have: math.MaxInt without a quota.
func (r *Registry) PayloadBytesMax(tenant string) int {
	if found, ok := r.accounts.Load(tenant); ok {
		if q := found.(*account).quotas.Load(); q != nil && q.PayloadBytesMax != 0 {
			return int(q.PayloadBytesMax)
		}
	}
	return math.MaxInt
}

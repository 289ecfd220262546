package access

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
)

// sharing is the additional state of a registry in a cluster whose nodes share quotas.
type sharing struct {
	lacking  chan struct{}                 // has an element when this node should report
	answered atomic.Pointer[chan struct{}] // closed by the next answer
	epoch    atomic.Uint64                 // of the last answer
}

func newSharing() *sharing {
	s := &sharing{lacking: make(chan struct{}, 1)}
	next := make(chan struct{})
	s.answered.Store(&next)
	return s
}

func (s *sharing) wake() {
	signal.Send(s.lacking)
}

// shared returns the quotas that nodes share, in the order of Shares; 0 means no quota.
func (q *Quotas) shared() [kinds]uint64 {
	return [kinds]uint64{kindTasks: q.TasksMax, kindBytes: q.BytesMax, kindLeases: q.LeasesMax, kindEnqueues: q.EnqueuesPerSMax}
}

// Quotas returns the quotas of all tenants with quotas. The caller must not change the map.
func (r *Registry) Quotas() map[string]Quotas { return r.current.Load().quotas }

// Lacking returns a channel that has an element when this node should report, because it lacks room
// or its quotas changed.
func (r *Registry) Lacking() <-chan struct{} { return r.sharing.lacking }

func (a *account) used(kind int) int64 {
	switch kind {
	case kindTasks:
		return a.tasks.Load()
	case kindBytes:
		return a.bytes.Load()
	case kindLeases:
		return a.leases.Load()
	}
	return 0
}

// begin starts the sharing of new quotas. The node's first limit is its usage.
func (a *account) begin(was *Quotas, q Quotas) {
	var before [kinds]uint64
	if was != nil {
		before = was.shared()
	}
	for kind, most := range q.shared() {
		if most > 0 && before[kind] == 0 {
			a.limits[kind].Store(a.used(kind))
		}
	}
	a.sharing.wake()
}

// lack records that the account lacked room for n more, and requests a report.
func (a *account) lack(kind int, n int64) {
	if a.sharing != nil {
		a.wants[kind].Add(n)
		a.sharing.wake()
	}
}

// retryMs returns the retry delay of a refusal. It is short if only this node's share of the quota
// is exhausted.
func (a *account) retryMs(kind int, quota uint64) uint64 {
	if a.sharing != nil && a.limits[kind].Load() < int64(quota) {
		return shareRetryMs
	}
	return roomRetryMs
}

// shareRetryMs is how long a node typically waits for a larger share of a quota.
const shareRetryMs = 100

// Report returns this node's report. covered returns the shards whose usage is in the accounts, and
// the version of that list. The version must change before the usage of a shard is subtracted from
// the accounts, and after it was added. Report reads the accounts again if the version changed
// during the reading, so that the usage and the list of shards agree.
func (r *Registry) Report(node string, seq uint64, covered func() ([]int, uint64)) Report {
	wants := map[string][kinds]int64{}
	for {
		shards, version := covered()
		out := Report{Node: node, Seq: seq, Epoch: r.sharing.epoch.Load(), Shards: shards, Tenants: map[string]Shares{}}
		for tenant := range r.current.Load().quotas {
			found, ok := r.accounts.Load(tenant)
			if !ok {
				continue
			}
			out.Tenants[tenant] = found.(*account).report(tenant, wants, r.elapsed())
		}
		if _, now := covered(); now == version {
			return out
		}
	}
}

func (a *account) report(tenant string, wants map[string][kinds]int64, now time.Duration) (out Shares) {
	want, again := wants[tenant]
	for kind := range kinds {
		if kind == kindEnqueues && !again {
			want[kind] = a.demand(now)
		} else if kind != kindEnqueues {
			want[kind] += a.wants[kind].Swap(0)
		}
		limit := a.limits[kind].Load()
		used := max(0, a.used(kind))
		out[kind] = Share{Limit: max(limit, used), Used: used, Want: want[kind]}
	}
	wants[tenant] = want
	return out
}

// demandWindow is the time over which enqueues are counted to estimate the rate that a node needs.
const demandWindow = time.Second

// demand returns the enqueues per second that the node needs. Only the reporting goroutine calls
// it.
func (a *account) demand(now time.Duration) int64 {
	n := a.wants[kindEnqueues].Load()
	if passed := now - a.demandSince; passed >= demandWindow {
		a.demanded = (n*int64(time.Second) + int64(passed) - 1) / int64(passed)
		a.demandSince = now
		a.wants[kindEnqueues].Add(-n)
		return a.demanded
	}
	return max(a.demanded, n)
}

// Apply applies the answer to the last report. The caller must call it before the next Report. The
// epochs of answers never decrease, since a coordinator refuses a report with a later epoch.
func (r *Registry) Apply(answer Answer) {
	r.sharing.epoch.Store(answer.Epoch)
	lowered := false
	for tenant, grants := range answer.Tenants {
		found, ok := r.accounts.Load(tenant)
		if !ok {
			continue
		}
		a := found.(*account)
		for kind, g := range grants {
			if g.More > 0 {
				a.raise(kind, g.More, r.elapsed())
			}
			if g.Spare >= 0 && a.lower(kind, g.Spare) {
				lowered = true
			}
		}
	}
	next := make(chan struct{})
	close(*r.sharing.answered.Swap(&next))
	if lowered { // other nodes wait for the room: report immediately
		r.sharing.wake()
	}
}

// Expire lowers all limits to the usage. A node that got no answer for ShareExpiry must call it.
func (r *Registry) Expire() {
	r.accounts.Range(func(_, found any) bool {
		for kind := range kinds {
			found.(*account).lower(kind, 0)
		}
		return true
	})
}

// raise raises a limit. The number of enqueues that the tenant has saved stays the same. The
// account stores it as a time, which raise converts to the new rate.
func (a *account) raise(kind int, more int64, now time.Duration) {
	if kind == kindEnqueues {
		before := a.limits[kind].Load()
		for full := int64(now) + enqueuesBurst; ; {
			paid := a.paidNs.Load()
			saved := full - max(paid, int64(now))
			if a.paidNs.CompareAndSwap(paid, full-int64(float64(saved)*(float64(before)/float64(before+more)))) {
				break
			}
		}
	}
	a.limits[kind].Add(more)
}

// lower lowers a limit to the usage plus spare, and reports whether it did.
func (a *account) lower(kind int, spare int64) bool {
	for {
		limit := a.limits[kind].Load()
		to := max(0, a.used(kind)) + spare
		if limit <= to {
			return false
		}
		if a.limits[kind].CompareAndSwap(limit, to) {
			return true
		}
	}
}

// bound returns the highest usage that the account admits, for a quota that is not 0.
func (a *account) bound(kind int, quota uint64) int64 {
	if a.sharing == nil {
		return int64(quota)
	}
	return min(int64(quota), a.limits[kind].Load())
}

// shareWaitMax bounds how long a call waits for a larger share of a quota.
const shareWaitMax = time.Second

// AwaitRoom waits at most shareWaitMax while this node's shares lack room for a number of tasks and
// their bytes, or for a number of leases, and other nodes may give up that room. For tasks, it also
// waits while the node's rate is 0. AwaitRoom does not reserve the room. Without a cluster it
// returns immediately.
func (r *Registry) AwaitRoom(ctx context.Context, tenant string, tasks int, bytes func() int64, leases int) {
	if r.sharing == nil {
		return
	}
	found, ok := r.accounts.Load(tenant)
	if !ok {
		return
	}
	a := found.(*account)
	q := a.quotas.Load()
	if q == nil {
		return
	}
	need := [kinds]int64{kindTasks: int64(tasks), kindLeases: int64(leases)}
	if tasks > 0 {
		need[kindEnqueues] = 1
		if q.BytesMax > 0 {
			need[kindBytes] = bytes()
		}
	}
	var timeout <-chan time.Time
	for range 2 { // the first answer may belong to a report without this need
		next := *r.sharing.answered.Load()
		if a.hasRoom(q, need) {
			return
		}
		if timeout == nil {
			timer := time.NewTimer(shareWaitMax)
			defer timer.Stop()
			timeout = timer.C
		}
		r.sharing.wake()
		select {
		case <-next:
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}

// hasRoom returns true if the shares have room for need, or if waiting cannot help because the
// quota has no room. Otherwise it records the need for the next report.
func (a *account) hasRoom(q *Quotas, need [kinds]int64) bool {
	has := true
	for kind, most := range q.shared() {
		if most == 0 || need[kind] == 0 {
			continue
		}
		used := max(0, a.used(kind))
		if used+need[kind] > int64(most) {
			return true
		}
		if used+need[kind] > a.limits[kind].Load() {
			has = false
			if kind != kindEnqueues {
				a.wants[kind].Add(need[kind])
			}
		}
	}
	return has
}

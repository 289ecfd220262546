package access

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/internal/signal"
)

// sharing is additional state of a registry if the nodes of a cluster share quotas.
type sharing struct {
	lacking  chan struct{}                 // contains an element when this node should report
	answered atomic.Pointer[chan struct{}] // closed by the next answer
	epoch    atomic.Uint64                 // epoch of the last answer
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

// shared returns the quotas that nodes share, by kind; 0 means no quota.
func (q *Quotas) shared() [kinds]uint64 {
	return [kinds]uint64{kindTasks: q.TasksMax, kindBytes: q.BytesMax, kindLeases: q.LeasesMax, kindEnqueues: q.EnqueuesPerSMax}
}

// Quotas returns the quotas of all tenants that have quotas. The caller must not change the map.
func (r *Registry) Quotas() map[string]Quotas { return r.current.Load().quotas }

// Lacking returns a channel that contains an element when this node should report now, because it
// lacks room, it gave up room, or quotas changed.
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

// begin starts the sharing of those quotas in q that were not set in was. The node's first limit is
// its usage.
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

func (a *account) lack(kind int, n int64) {
	if a.sharing != nil {
		a.wants[kind].Add(n)
		a.sharing.wake()
	}
}

// retryMs returns the retry delay of a refusal. The delay is short if this node's limit is below
// the quota, because the limit may be raised soon.
func (a *account) retryMs(kind int, quota uint64) uint64 {
	if a.sharing != nil && a.limits[kind].Load() < int64(quota) {
		return shareRetryMs
	}
	return roomRetryMs
}

// shareRetryMs is the typical time, in milliseconds, until a node gets a larger share of a quota.
const shareRetryMs = 100

// Report returns this node's report. covered returns the shards whose usage the accounts include,
// and the version of that list. The version must change before the usage of a shard is subtracted
// from the accounts, and after the usage of a shard was added. If the version changes while Report
// reads the accounts, Report reads them again, so that the usage matches the list of shards.
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

// demandWindow is the period of counting enqueues to estimate the rate that a node needs.
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
// epochs of successive answers never decrease, because a coordinator refuses a report that contains
// a later epoch.
func (r *Registry) Apply(answer Answer) {
	if r.sharing.epoch.Swap(answer.Epoch) != answer.Epoch {
		r.sharing.wake() // a new coordinator raises no limit before the next report
	}
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
	if lowered { // report immediately, because other nodes wait for the room
		r.sharing.wake()
	}
}

// Expire lowers all limits to the usage. It must be called when the node got no answer for
// ShareExpiry.
func (r *Registry) Expire() {
	r.accounts.Range(func(_, found any) bool {
		for kind := range kinds {
			found.(*account).lower(kind, 0)
		}
		return true
	})
}

// raise raises a limit. If the limit is a rate, the tenant retains the number of enqueues that it
// has saved: paidNs represents this number as a time at the old rate, which raise converts to a
// time at the new rate.
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

// lower lowers a limit to the usage plus spare. It returns false if the limit is not higher than
// that.
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

// bound returns the maximum usage that the account admits for a quota. quota must not be 0.
func (a *account) bound(kind int, quota uint64) int64 {
	if a.sharing == nil {
		return int64(quota)
	}
	return min(int64(quota), a.limits[kind].Load())
}

// shareWaitMax is the maximum time that a call waits for a larger share of a quota.
const shareWaitMax = time.Second

// AwaitRoom waits until this node's limits have room for the given number of tasks with their
// bytes, and of leases. For tasks, it also waits until the node's rate of enqueues is not 0. It
// waits for at most two answers of the coordinator and at most shareWaitMax. It does not wait if
// the quota itself has no room, or without a cluster. AwaitRoom does not reserve the room.
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
	for range 2 { // the first answer may be for a report that did not include this need
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

// hasRoom returns true if the node's limits have room for need, or if it is useless to wait because
// the quota has no room. Otherwise it adds the need to the next report.
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

package queue

import "math"

// Stats contains a queue's figures at one moment.
type Stats struct {
	ID     uint32
	Tenant string
	Name   string
	Policy Policy
	// PolicyVersion is 0 if the queue was never configured.
	PolicyVersion uint64
	Paused        bool
	Enqueued      uint64 // ever
	Completed     uint64 // ever
	Removed       uint64 // ever
	Events        Events
	Ready         uint64
	// Parked is the number of those ready tasks that the last turns of the queue passed over, because
	// their groups are at their limit.
	Parked  uint64
	Delayed uint64
	Waiting uint64 // tasks that wait for other tasks
	Leased  uint64
	Dead    uint64
	Bytes   uint64 // total size of the payloads and headers of all stored tasks
	// Charged is the number of bytes charged for the queue and all of its tasks with their
	// histories. It excludes results and idempotency keys, whose charges are known only per tenant.
	Charged uint64
	// ReadySinceMs is the time when the oldest ready task became ready; math.MaxInt64 if no task is
	// ready.
	ReadySinceMs  int64
	EnqueuedPerS  float64
	CompletedPerS float64
}

// Add adds the figures of q, which is the same queue in another shard, or another queue if s is a
// total. s gets the policy with the higher version.
func (s *Stats) Add(q *Stats) {
	s.Paused = s.Paused || q.Paused
	if q.PolicyVersion > s.PolicyVersion {
		s.Policy, s.PolicyVersion = q.Policy, q.PolicyVersion
	}
	s.Enqueued += q.Enqueued
	s.Completed += q.Completed
	s.Ready += q.Ready
	s.Parked += q.Parked
	s.Delayed += q.Delayed
	s.Waiting += q.Waiting
	s.Leased += q.Leased
	s.Dead += q.Dead
	s.Removed += q.Removed
	s.Events.Add(&q.Events)
	s.Bytes += q.Bytes
	s.Charged += q.Charged
	s.ReadySinceMs = min(s.ReadySinceMs, q.ReadySinceMs)
	s.EnqueuedPerS += q.EnqueuedPerS
	s.CompletedPerS += q.CompletedPerS
}

// Stored returns the number of stored tasks.
func (s *Stats) Stored() uint64 { return s.Ready + s.Delayed + s.Waiting + s.Leased + s.Dead }

// Age converts the rates as of fromMs to the rates as of nowMs. The queue must not have changed in
// between.
func (s *Stats) Age(fromMs, nowMs int64) {
	if nowMs > fromMs {
		kept := math.Exp(-float64(nowMs-fromMs) / rateTauMs)
		s.EnqueuedPerS *= kept
		s.CompletedPerS *= kept
	}
}

const (
	// oldestTasks and oldestBytes limit the tasks and bytes of a Refill that finds a lane's oldest
	// ready task.
	oldestTasks = 16
	oldestBytes = 64 << 10
)

// Refresh reports whether Stats would return exact figures of a queue, as of asOfMs (a time in the
// past) or later. If not, it requests Refills for a part of the missing records. The caller calls
// Refresh again when these Refills are answered.
func (ls *lanes) Refresh(q *Queue, asOfMs int64) (exact bool) {
	exact = true
	for _, l := range q.lanes {
		switch {
		case l == nil:
		case l.behind && (l.unsure || l.counted.dueAtMs <= asOfMs):
			exact = false
			ls.countAtMs = min(ls.countAtMs, ls.nowMs)
			if ls.counting < countLanesMax {
				ls.askCount(l, ls.cfg.LookMax/countLanesMax)
			}
		default:
			exact = ls.knowsOldest(l) && exact
		}
	}
	return exact
}

// knowsOldest reports whether the lane's oldest ready task is in memory or does not exist. If not,
// it requests the task with a Refill.
func (ls *lanes) knowsOldest(l *lane) bool {
	known := true
	if l.due > uint64(l.parked.returnedLen()) && l.returned.Len() == 0 {
		ls.askReturned(l, min(oldestTasks, ls.cfg.windowFloor()))
		known = false
	}
	ls.dropGone(l)
	if l.queue.record.Counts.Fresh > 0 && l.parked.len() == 0 && l.fresh.len() == 0 && !l.freshAll {
		ls.askFresh(l, min(oldestTasks, ls.cfg.windowFloor()), min(ls.cfg.RefillBytesMax, oldestBytes))
		known = false
	}
	return known
}

// Stats returns the figures of a queue. They are exact if Refresh returned true for the queue after
// the last change of the state.
func (ls *lanes) Stats(q *Queue, now int64) Stats {
	r, c := &q.record, &q.record.Counts
	out := Stats{
		ID: r.ID, Tenant: r.Tenant, Name: r.Name, Policy: r.Policy, PolicyVersion: r.PolicyVersion, Paused: r.Paused,
		Enqueued: c.Enqueued, Completed: c.Completed, Removed: c.Removed,
		Ready: c.Fresh, Delayed: c.Returned - uint64(r.Dependencies.Waiting), Waiting: uint64(r.Dependencies.Waiting), Leased: c.Leased, Dead: c.Dead, Bytes: c.Bytes, Charged: uint64(r.chargedBytes()),
		ReadySinceMs: math.MaxInt64,
	}
	if q.events != nil {
		out.Events = *q.events
	}
	out.Parked = uint64(q.Parked())
	out.EnqueuedPerS, out.CompletedPerS = q.rates.perSecond(now)
	for _, l := range q.lanes {
		if l == nil {
			continue
		}
		out.Ready += l.due
		out.Delayed -= l.due
		if t, ok := l.returned.Min(); ok && l.due > 0 {
			out.ReadySinceMs = min(out.ReadySinceMs, t.dueAtMs)
		}
		if t := l.parked.first(); t != nil {
			out.ReadySinceMs = min(out.ReadySinceMs, t.dueAtMs)
		}
		if l.fresh.len() > 0 {
			out.ReadySinceMs = min(out.ReadySinceMs, l.fresh.front().task.EnqueuedAtMs)
		}
	}
	return out
}

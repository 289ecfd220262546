package admin

import (
	"math"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

func queueMessage(q *queue.Stats, nowMs int64) *adminpb.Queue {
	m := &adminpb.Queue{
		Tenant: q.Tenant, Queue: q.Name, Paused: q.Paused, Policy: policyMessage(&q.Policy),
		Ready: q.Ready, Parked: q.Parked, Delayed: q.Delayed, Waiting: q.Waiting, Leased: q.Leased, Dead: q.Dead, Bytes: q.Charged,
		Enqueued: q.Enqueued, Completed: q.Completed, Removed: q.Removed,
		EnqueuedPerS: q.EnqueuedPerS, CompletedPerS: q.CompletedPerS,
		Events: eventsMessage(&q.Events),
	}
	if q.ReadySinceMs != math.MaxInt64 {
		m.OldestReadyAgeMs = uint64(max(0, nowMs-q.ReadySinceMs))
	}
	return m
}

// figuresOf converts a queue message from another node to statistics. It is the inverse of
// queueMessage.
func figuresOf(m *adminpb.Queue, nowMs int64) queue.Stats {
	q := queue.Stats{
		Tenant: m.GetTenant(), Name: m.GetQueue(), Paused: m.GetPaused(), Policy: policyOf(m.GetPolicy()),
		Ready: m.GetReady(), Parked: m.GetParked(), Delayed: m.GetDelayed(), Waiting: m.GetWaiting(), Leased: m.GetLeased(), Dead: m.GetDead(), Charged: m.GetBytes(),
		Enqueued: m.GetEnqueued(), Completed: m.GetCompleted(), Removed: m.GetRemoved(),
		EnqueuedPerS: m.GetEnqueuedPerS(), CompletedPerS: m.GetCompletedPerS(), ReadySinceMs: math.MaxInt64,
		Events: eventsOf(m.GetEvents()),
	}
	if age := m.GetOldestReadyAgeMs(); age > 0 {
		q.ReadySinceMs = nowMs - int64(age)
	}
	return q
}

func eventsMessage(e *queue.Events) *adminpb.QueueEvents {
	return &adminpb.QueueEvents{
		FailedAttempts: e.FailedAttempts, ExpiredLeases: e.ExpiredLeases, Retries: e.Retries, Cancelled: e.Cancelled,
		DeadAttempts: e.Died[queue.AttemptsUsedUp], DeadExpired: e.Died[queue.TimeToLiveOver], DeadPermanent: e.Died[queue.FailedPermanently],
		DeadDependency: e.Died[queue.DependencyDied],
	}
}

// eventsOf converts a message to events. It is the inverse of eventsMessage.
func eventsOf(m *adminpb.QueueEvents) queue.Events {
	e := queue.Events{
		FailedAttempts: m.GetFailedAttempts(), ExpiredLeases: m.GetExpiredLeases(), Retries: m.GetRetries(), Cancelled: m.GetCancelled(),
	}
	e.Died[queue.AttemptsUsedUp], e.Died[queue.TimeToLiveOver], e.Died[queue.FailedPermanently] = m.GetDeadAttempts(), m.GetDeadExpired(), m.GetDeadPermanent()
	e.Died[queue.DependencyDied] = m.GetDeadDependency()
	return e
}

func policyMessage(p *queue.Policy) *adminpb.QueuePolicy {
	m := &adminpb.QueuePolicy{
		Placement: adminpb.Placement_PLACEMENT_SPREAD, MaxAttempts: p.MaxAttempts, LeaseMs: p.LeaseMs,
		TtlMs: p.TTLMs, ResultRetentionMs: p.RetentionMs, KeyWindowMs: p.KeyWindowMs,
		HistoryTasksMax: p.HistoryTasksMax, HistoryRetentionMs: p.HistoryRetentionMs,
		Limit: limitMessage(p.Limit), GroupLimit: limitMessage(p.GroupLimit),
	}
	if p.Placement == queue.Ordered {
		m.Placement = adminpb.Placement_PLACEMENT_ORDERED
	}
	if b := p.Backoff; b != (queue.Backoff{}) {
		m.Backoff = &queuepb.Backoff{
			InitialMs: b.InitialMs, MaxMs: b.MaxMs, MultiplierPercent: b.MultiplierPercent, JitterPercent: b.JitterPercent,
		}
	}
	return m
}

// policyOf converts a message to a policy. It is the inverse of policyMessage.
func policyOf(m *adminpb.QueuePolicy) queue.Policy {
	p := queue.Policy{
		MaxAttempts: m.GetMaxAttempts(), LeaseMs: m.GetLeaseMs(), Backoff: call.BackoffOf(m.GetBackoff()),
		TTLMs: m.GetTtlMs(), RetentionMs: m.GetResultRetentionMs(), KeyWindowMs: m.GetKeyWindowMs(), Placement: queue.Spread,
		HistoryTasksMax: m.GetHistoryTasksMax(), HistoryRetentionMs: m.GetHistoryRetentionMs(),
		Limit: limitOf(m.GetLimit()), GroupLimit: limitOf(m.GetGroupLimit()),
	}
	if m.GetPlacement() == adminpb.Placement_PLACEMENT_ORDERED {
		p.Placement = queue.Ordered
	}
	return p
}

func limitMessage(l queue.Limit) *adminpb.Limit {
	if l == (queue.Limit{}) {
		return nil
	}
	return &adminpb.Limit{LeasedMax: l.LeasedMax, RatePerS: l.RatePerS(), Burst: l.Burst}
}

// limitOf converts a message to a limit. It is the inverse of limitMessage.
func limitOf(m *adminpb.Limit) queue.Limit {
	return queue.Limit{LeasedMax: m.GetLeasedMax(), RateMilli: queue.RateMilli(m.GetRatePerS()), Burst: m.GetBurst()}
}

package admin

import (
	"fmt"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/schedule"
)

// nextRuns is the number of due times in the message for a recurring task.
const nextRuns = 5

var missedOf = map[adminpb.MissedRuns]queue.Missed{
	adminpb.MissedRuns_MISSED_RUNS_UNSPECIFIED: queue.MissedOnce,
	adminpb.MissedRuns_MISSED_RUNS_RUN_ONCE:    queue.MissedOnce,
	adminpb.MissedRuns_MISSED_RUNS_SKIP:        queue.MissedSkip,
	adminpb.MissedRuns_MISSED_RUNS_RUN_ALL:     queue.MissedAll,
}

var overlapOf = map[adminpb.Overlap]queue.Overlap{
	adminpb.Overlap_OVERLAP_UNSPECIFIED: queue.OverlapAllow,
	adminpb.Overlap_OVERLAP_ALLOW:       queue.OverlapAllow,
	adminpb.Overlap_OVERLAP_SKIP:        queue.OverlapSkip,
}

// recurringSpec converts and validates the spec of a recurring task.
func (a *Service) recurringSpec(in *adminpb.SetRecurringRequest) (s queue.RecurringSpec, err error) {
	m, t := in.GetSpec(), in.GetSpec().GetTask()
	if m == nil {
		return s, &queue.FieldError{Field: "spec", Problem: "is missing: pass one"}
	}
	missed, known := missedOf[m.GetMissed()]
	if !known {
		return s, &queue.FieldError{Field: "spec.missed", Problem: fmt.Sprintf("%d is not known: use RUN_ONCE, SKIP or RUN_ALL", m.GetMissed())}
	}
	overlap, known := overlapOf[m.GetOverlap()]
	if !known {
		return s, &queue.FieldError{Field: "spec.overlap", Problem: fmt.Sprintf("%d is not known: use ALLOW or SKIP", m.GetOverlap())}
	}
	s = queue.RecurringSpec{
		Schedule: schedule.Spec{Cron: m.GetCron(), EveryMs: m.GetIntervalMs(), Zone: m.GetTimeZone(), JitterMs: m.GetJitterMs()},
		Missed:   missed, MissedMax: m.GetMissedMax(), Overlap: overlap,
		Template: queue.Template{
			Priority: uint8(min(t.GetPriority(), 255)), MaxAttempts: t.GetMaxAttempts(), LeaseMs: t.GetLeaseMs(), TTLMs: t.GetTtlMs(),
			RetentionMs: t.GetResultRetentionMs(), Headers: t.GetHeaders(), Payload: t.GetPayload(),
		},
	}
	if bad := a.limits.CheckRecurring(in.GetName(), &s, t.GetPriority()); bad != nil {
		return s, &queue.FieldError{Field: "spec." + bad.Field, Problem: bad.Problem}
	}
	return s, nil
}

func (a *Service) recurringMessage(v *queue.RecurringView) *adminpb.Recurring {
	s, p, t := &v.Spec, &v.Progress, &v.Spec.Template
	m := &adminpb.Recurring{
		Tenant: v.Tenant, Queue: v.QueueName, Name: v.Name, Paused: p.Paused, NextMs: v.Next(nextRuns),
		SettledUntilMs: p.AfterMs, Unfinished: v.Unfinished, Runs: p.Runs, Missed: p.Missed, Overlapped: p.Overlapped, Refused: p.Refused,
		Spec: &adminpb.RecurringSpec{
			Cron: s.Schedule.Cron, IntervalMs: s.Schedule.EveryMs, TimeZone: s.Schedule.Zone, JitterMs: s.Schedule.JitterMs,
			Missed: adminpb.MissedRuns_MISSED_RUNS_RUN_ONCE, MissedMax: s.MissedMax, Overlap: adminpb.Overlap_OVERLAP_ALLOW,
			Task: &adminpb.RecurringTemplate{
				Payload: t.Payload, Headers: t.Headers, Priority: uint32(t.Priority), MaxAttempts: t.MaxAttempts,
				LeaseMs: t.LeaseMs, TtlMs: t.TTLMs, ResultRetentionMs: t.RetentionMs,
			},
		},
	}
	switch s.Missed {
	case queue.MissedSkip:
		m.Spec.Missed = adminpb.MissedRuns_MISSED_RUNS_SKIP
	case queue.MissedAll:
		m.Spec.Missed = adminpb.MissedRuns_MISSED_RUNS_RUN_ALL
	case queue.MissedOnce:
	}
	if s.Overlap == queue.OverlapSkip {
		m.Spec.Overlap = adminpb.Overlap_OVERLAP_SKIP
	}
	if p.Runs > 0 {
		shard := a.shards.RecurringShard(v.Tenant, v.QueueName)
		m.LastId = queue.ID{Shard: uint16(shard), Ref: p.Last}.String()
	}
	return m
}

package record

import (
	"fmt"
	"math"

	"github.com/pronybench/prony/engine/queue"
)

// EncodeQueue encodes the record of a queue. The cursors and due counts are encoded only for the
// lanes in Lanes. Delayed lanes have no cursor. The policy and the due counts are encoded only under
// the condition in parentheses:
//
//	format | tenant | name | next seq | counts | policy version | (policy, if version > 0) | paused | lanes | cursors
//	| history bytes | (due counts, if any task is returned) | (history: first | next | bytes, since format 9) | (holes, since format 10)
//	| (dependencies: waiting | linked | bytes, in format 11)
func EncodeQueue(e *Encoder, r *queue.Record) {
	e.start()
	if r.Finished != (queue.FinishedCounts{}) || r.Policy.HistoryTasksMax > 0 || r.Policy.HistoryRetentionMs > 0 {
		e.b[0] = formatHistory
	}
	if r.Holes || r.Policy.Limit != (queue.Limit{}) || r.Policy.GroupLimit != (queue.Limit{}) {
		e.b[0] = formatLimits
	}
	if r.Dependencies != (queue.DependencyCounts{}) {
		e.b[0] = formatDepends
	}
	e.text(r.Tenant)
	e.text(r.Name)
	e.uint(r.NextSeq)
	c := &r.Counts
	for _, v := range [...]uint64{c.Enqueued, c.Completed, c.Removed, c.Fresh, c.Returned, c.Leased, c.Dead, c.Bytes} {
		e.uint(v)
	}
	e.uint(r.PolicyVersion)
	if r.PolicyVersion > 0 {
		e.policy(&r.Policy)
	}
	e.bool(r.Paused)
	e.uint(uint64(r.Lanes))
	for p, cursor := range r.Cursors {
		if r.Lanes&(1<<p) != 0 {
			e.uint(cursor)
		}
	}
	e.uint(c.HistoryBytes)
	if c.Returned > 0 {
		for n, due := range r.Due {
			if r.Lanes&(1<<n) != 0 {
				e.uint(due.Tasks)
				e.int(due.BeforeMs)
				e.uint(due.BeforeSeq)
			}
		}
	}
	if e.b[0] >= formatHistory {
		e.uint(r.Finished.First)
		e.uint(r.Finished.Next)
		e.uint(r.Finished.Bytes)
	}
	if e.b[0] >= formatLimits {
		e.bool(r.Holes)
	}
	if e.b[0] >= formatDepends {
		e.uint(uint64(r.Dependencies.Waiting))
		e.uint(uint64(r.Dependencies.Linked))
		e.uint(r.Dependencies.Bytes)
	}
}

// DecodeQueue decodes the record of a queue.
func DecodeQueue(id uint32, b []byte) (queue.Record, error) {
	d := decode(b)
	r := queue.Record{ID: id, Tenant: d.Text(), Name: d.Text(), NextSeq: d.Uint()}
	c := &r.Counts
	for _, v := range [...]*uint64{&c.Enqueued, &c.Completed, &c.Removed, &c.Fresh, &c.Returned, &c.Leased, &c.Dead, &c.Bytes} {
		*v = d.Uint()
	}
	r.PolicyVersion = d.Uint()
	if r.PolicyVersion > 0 {
		r.Policy = d.policy()
	}
	r.Paused = d.Bool()
	lanes := d.Uint()
	if lanes >= 1<<queue.Lanes {
		d.Fail(fmt.Errorf("lanes %b are out of range", lanes))
	}
	r.Lanes = uint32(lanes)
	for p := range r.Cursors {
		if r.Lanes&(1<<p) != 0 {
			r.Cursors[p] = d.Uint()
		}
	}
	if d.Format >= 3 {
		c.HistoryBytes = d.Uint()
	}
	if c.Returned > 0 {
		d.dueCounts(&r)
	}
	if d.Format >= formatHistory {
		r.Finished = queue.FinishedCounts{First: d.Uint(), Next: d.Uint(), Bytes: d.Uint()}
		if r.Finished.First > r.Finished.Next {
			d.Fail(fmt.Errorf("a history from %d to %d is out of range", r.Finished.First, r.Finished.Next))
		}
	}
	if d.Format >= formatLimits {
		r.Holes = d.Bool()
	}
	if d.Format >= formatDepends {
		r.Dependencies = queue.DependencyCounts{Waiting: d.Uint32(), Linked: d.Uint32(), Bytes: d.Uint()}
	}
	return r, d.End()
}

// dueCounts decodes the count of due tasks of each lane. A record in an older format contains no
// counts. The count is then 0 before the first Due record, so that the state machine counts all
// records.
func (d decoder) dueCounts(r *queue.Record) {
	r.Due = new([queue.Lanes]queue.DueCount)
	for n := range r.Due {
		switch {
		case r.Lanes&(1<<n) == 0:
		case d.Format < 3:
			r.Due[n].BeforeMs = math.MinInt64
		default:
			r.Due[n] = queue.DueCount{Tasks: d.Uint(), BeforeMs: d.Int(), BeforeSeq: d.Uint()}
		}
	}
}

func (e *Encoder) policy(p *queue.Policy) {
	e.uint(uint64(p.Placement))
	e.uint(uint64(p.MaxAttempts))
	e.uint(p.LeaseMs)
	e.backoff(p.Backoff)
	e.uint(p.TTLMs)
	e.uint(p.RetentionMs)
	if p.KeyWindowMs > 0 {
		e.b[0] = max(e.b[0], formatUnique)
	}
	if e.b[0] >= formatUnique {
		e.uint(p.KeyWindowMs)
	}
	if e.b[0] >= formatHistory {
		e.uint(uint64(p.HistoryTasksMax))
		e.uint(p.HistoryRetentionMs)
	}
	if e.b[0] >= formatLimits {
		e.limit(p.Limit)
		e.limit(p.GroupLimit)
	}
}

func (e *Encoder) limit(l queue.Limit) {
	e.uint(uint64(l.LeasedMax))
	e.uint(l.RateMilli)
	e.uint(uint64(l.Burst))
}

func (d decoder) limit() queue.Limit {
	return queue.Limit{LeasedMax: d.Uint32(), RateMilli: d.Uint(), Burst: d.Uint32()}
}

func (d decoder) policy() queue.Policy {
	p := queue.Policy{
		Placement: queue.Placement(d.Uint8()), MaxAttempts: d.Uint32(), LeaseMs: d.Uint(), Backoff: d.backoff(),
		TTLMs: d.Uint(), RetentionMs: d.Uint(),
	}
	if d.Format >= formatUnique {
		p.KeyWindowMs = d.Uint()
	}
	if d.Format >= formatHistory {
		p.HistoryTasksMax, p.HistoryRetentionMs = d.Uint32(), d.Uint()
	}
	if d.Format >= formatLimits {
		p.Limit, p.GroupLimit = d.limit(), d.limit()
	}
	return p
}

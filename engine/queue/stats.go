package queue

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// Stats are a queue's figures at one moment.
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
	Ready         uint64
	Delayed       uint64
	Leased        uint64
	Dead          uint64
	Bytes         uint64 // of the payloads of these four
	// ReadySinceMs is since when the ready task is ready that has been so for longest; math.MaxInt64 without one.
	// Unread names what is not in memory and may begin with an older one.
	ReadySinceMs  int64
	Unread        []Refill
	EnqueuedPerS  float64
	CompletedPerS float64
}

// Stats returns the figures of all queues, in no order. Of a queue's returned tasks those count as
// ready that are due and in a window; the rest count as delayed.
func (s *State) Stats(now int64) []Stats {
	out := make([]Stats, 0, len(s.queues))
	for _, q := range s.queues {
		out = append(out, s.stats(q, now))
	}
	return out
}

// QueueStats returns the figures of one queue, or false if there is none of that name.
func (s *State) QueueStats(now int64, tenant, name string) (Stats, bool) {
	q := s.byName[queueName{tenant, name}]
	if q == nil {
		return Stats{}, false
	}
	return s.stats(q, now), true
}

func (s *State) stats(q *Queue, now int64) Stats {
	r, c := &q.record, &q.record.Counts
	out := Stats{
		ID: r.ID, Tenant: r.Tenant, Name: r.Name, Policy: r.Policy, PolicyVersion: r.PolicyVersion, Paused: r.Paused,
		Enqueued: c.Enqueued, Completed: c.Completed, Removed: c.Removed,
		Ready: c.Fresh, Delayed: c.Returned, Leased: c.Leased, Dead: c.Dead, Bytes: c.Bytes,
		ReadySinceMs: math.MaxInt64,
		EnqueuedPerS: q.rates.enqueued.perSecond(now), CompletedPerS: q.rates.completed.perSecond(now),
	}
	for _, l := range q.lanes {
		if l == nil {
			continue
		}
		out.Ready += l.due
		out.Delayed -= l.due
		switch t, ok := l.returned.Min(); {
		case ok && t.dueAtMs <= now:
			out.ReadySinceMs = min(out.ReadySinceMs, t.dueAtMs)
		case !ok && !l.returnedAll && l.returnedEnd.dueAtMs <= now:
			out.Unread = append(out.Unread, l.returnedRefill(1))
		}
		l.dropGone(s)
		switch {
		case l.fresh.len() > 0:
			out.ReadySinceMs = min(out.ReadySinceMs, l.fresh.front().task.EnqueuedAtMs)
		case !l.freshAll:
			out.Unread = append(out.Unread, l.freshRefill(1))
		}
	}
	return out
}

// dropGone takes the fresh tasks that are gone off the window's front.
func (l *lane) dropGone(s *State) {
	for l.fresh.len() > 0 && l.fresh.front().gone {
		s.popFresh(l)
	}
}

// Queue returns the queue with an id.
func (s *State) Queue(id uint32) (*Queue, bool) {
	q, ok := s.queues[id]
	return q, ok
}

// Named returns the queue with a name.
func (s *State) Named(tenant, name string) (*Queue, bool) {
	q, ok := s.byName[queueName{tenant, name}]
	return q, ok
}

// Cursor returns the seq from which a lane's tasks were never claimed.
func (q *Queue) Cursor(priority uint8) uint64 {
	if l := q.lanes[priority]; l != nil {
		return l.cursor
	}
	return 0
}

// ID returns the queue's number in its shard.
func (q *Queue) ID() uint32 { return q.record.ID }

// LeasedTasks lists up to limit leased tasks of a queue after a place that it returned before, ordered by token, with
// about bytesMax bytes of payloads at most (0: any number). next is empty after the last page.
func (s *State) LeasedTasks(q *Queue, after []byte, limit, bytesMax int) (out []LeaseRef, next []byte) {
	var from uint64
	if len(after) > 0 {
		if len(after) != 8 {
			return nil, nil
		}
		from = binary.BigEndian.Uint64(after) + 1
	}
	if limit < 1 || len(after) > 0 && from == 0 {
		return nil, nil
	}
	type held struct {
		token uint64
		ref   *LeaseRef
	}
	var all []held
	for _, b := range s.leases {
		for i := range b.refs {
			if ref, token := &b.refs[i], Token(b.id, i); ref.Attempt != 0 && ref.Queue == q.record.ID && token >= from {
				all = append(all, held{token, ref})
			}
		}
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Compare(a.token, b.token) })
	bytes := 0
	for _, h := range all {
		if len(out) >= limit || bytesMax > 0 && bytes >= bytesMax {
			return out, binary.BigEndian.AppendUint64(nil, all[len(out)-1].token)
		}
		out = append(out, *h.ref)
		bytes += int(h.ref.Bytes)
	}
	return out, nil
}

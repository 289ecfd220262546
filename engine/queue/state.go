package queue

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooManyQueues says that the shard holds as many queues as Config.Queues allows.
var ErrTooManyQueues = errors.New("too many queues")

// State is one shard's state machine.
type State struct {
	cfg     Config
	journal Journal

	byName map[queueName]*Queue
	queues map[uint32]*Queue
	last   *Queue // the queue that was looked up last: runs of one queue are the rule
	meta   Meta

	leases  map[uint64]*lease
	expiry  deadlines[*lease]
	due     deadlines[*lane]
	hot     ring[*Queue] // queues that may have both ready tasks and waiters with credit
	granted []*Waiter    // have a batch that the running Dispatch is filling
	refills []Refill
	dirty   []*Queue

	windowsTasks  int // fresh tasks in all windows
	returnedTasks int // returned tasks in all windows
	cacheBytes    int64
}

type queueName struct{ tenant, name string }

// Queue is one queue of a shard.
type Queue struct {
	record  Record
	lanes   [MaxPriority + 1]*lane
	waiting ring[*subscription] // of waiters with credit
	hot     bool
	dirty   bool
}

// Tenant returns the queue's tenant.
func (q *Queue) Tenant() string { return q.record.Tenant }

// Name returns the queue's name.
func (q *Queue) Name() string { return q.record.Name }

// Recovered is what a shard's store held when it was opened.
type Recovered struct {
	Meta   Meta
	Queues []Record
	Leases []RecoveredLease
}

// RecoveredLease is a stored lease batch; refs that were settled since it was written have Attempt 0.
type RecoveredLease struct {
	Batch uint64
	Refs  []LeaseRef
}

// New returns a state that goes on from what was recovered, or an empty one. Decisions are written to journal.
func New(cfg Config, journal Journal, from Recovered) (*State, error) {
	s := &State{
		cfg:     cfg.withDefaults(),
		journal: journal,
		byName:  map[queueName]*Queue{},
		queues:  map[uint32]*Queue{},
		leases:  map[uint64]*lease{},
		meta:    from.Meta,
	}
	s.meta.NextBatch = max(s.meta.NextBatch, 1)
	for i := range from.Queues {
		s.recoverQueue(from.Queues[i])
	}
	for _, r := range from.Leases {
		if err := s.recoverLease(r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// recoverQueue restores a queue with empty windows: they fill when the queue is first claimed from.
func (s *State) recoverQueue(r Record) {
	q := &Queue{record: r}
	for p, cursor := range r.Cursors {
		if r.Lanes&(1<<p) == 0 {
			continue
		}
		l := q.lane(uint8(p))
		l.cursor, l.freshEnd = cursor, cursor
		l.freshAll = r.Counts.Fresh == 0
		if r.Counts.Returned > 0 {
			l.returnedAll = false
			l.returnedEnd = returnedKey{math.MinInt64, 0}
		}
	}
	s.byName[queueName{r.Tenant, r.Name}] = q
	s.queues[r.ID] = q
	s.meta.NextQueue = max(s.meta.NextQueue, r.ID+1)
}

func (s *State) recoverLease(r RecoveredLease) error {
	b := &lease{id: r.Batch, refs: r.Refs, index: -1, expiresMs: math.MaxInt64}
	for i := range b.refs {
		ref := &b.refs[i]
		if ref.Attempt == 0 {
			continue
		}
		if s.queues[ref.Queue] == nil {
			return fmt.Errorf("lease batch %d names queue %d, which is not stored", r.Batch, ref.Queue)
		}
		b.live++
		b.expiresMs = min(b.expiresMs, ref.ExpiresAtMs)
	}
	s.meta.NextBatch = max(s.meta.NextBatch, r.Batch+1)
	if b.live == 0 {
		s.journal.DropLease(b.id)
		return nil
	}
	s.leases[b.id] = b
	s.expiry.set(b)
	return nil
}

// queue returns the queue of a tenant, made if need be.
func (s *State) queue(tenant, name string) (*Queue, error) {
	if q := s.last; q != nil && q.record.Name == name && q.record.Tenant == tenant {
		return q, nil
	}
	key := queueName{tenant, name}
	q := s.byName[key]
	if q == nil {
		if len(s.queues) >= s.cfg.Queues {
			return nil, fmt.Errorf("%w: the shard holds %d", ErrTooManyQueues, len(s.queues))
		}
		q = &Queue{record: Record{ID: s.meta.NextQueue, Tenant: tenant, Name: name}}
		s.meta.NextQueue++
		s.byName[key] = q
		s.queues[q.record.ID] = q
		s.touch(q)
	}
	s.last = q
	return q, nil
}

func (q *Queue) lane(priority uint8) *lane {
	l := q.lanes[priority]
	if l == nil {
		l = newLane(q, priority)
		q.lanes[priority] = l
	}
	return l
}

// touch notes that the queue's record must be written with this commit.
func (s *State) touch(q *Queue) {
	if !q.dirty {
		q.dirty = true
		s.dirty = append(s.dirty, q)
	}
}

// heat notes that the queue may have both ready tasks and waiters.
func (s *State) heat(q *Queue) {
	if !q.hot && q.waiting.len() > 0 {
		q.hot = true
		s.hot.push(q)
	}
}

// Flush writes what is stored once per commit: the records of touched queues, and the shard's own.
// It reports false if nothing was decided since the last Flush that needs a commit.
func (s *State) Flush() bool {
	if len(s.dirty) == 0 {
		return false
	}
	for i, q := range s.dirty {
		for p, l := range q.lanes {
			if l != nil {
				q.record.Lanes |= 1 << p
				q.record.Cursors[p] = l.cursor
			}
		}
		s.journal.PutQueue(&q.record)
		q.dirty = false
		s.dirty[i] = nil
	}
	s.dirty = s.dirty[:0]
	s.journal.PutMeta(s.meta)
	return true
}

// Enqueued is the outcome of one task of Enqueue.
type Enqueued struct {
	Ref Ref
	Err error // ErrTooManyQueues, or nil
}

// Enqueue stores tasks of one tenant; out receives an outcome for each.
func (s *State) Enqueue(now int64, tenant string, tasks []NewTask, out []Enqueued) {
	for i := range tasks {
		out[i].Ref, out[i].Err = s.enqueue(now, tenant, &tasks[i])
	}
}

func (s *State) enqueue(now int64, tenant string, n *NewTask) (Ref, error) {
	q, err := s.queue(tenant, n.Queue)
	if err != nil {
		return Ref{}, err
	}
	l := q.lane(n.Priority)
	ref := l.ref(q.record.NextSeq)
	q.record.NextSeq++
	q.record.Counts.Enqueued++
	t := Task{
		EnqueuedAtMs: now,
		MaxAttempts:  orDefault(n.MaxAttempts, s.cfg.MaxAttempts),
		LeaseMs:      orDefault(n.LeaseMs, s.cfg.LeaseMs),
		Delayed:      n.DelayMs > 0,
		Payload:      n.Payload,
	}
	s.touch(q)
	s.journal.PutTask(ref, t)
	if t.Delayed {
		s.returnTask(ref, Progress{DueAtMs: now + int64(n.DelayMs)},
			Due{MaxAttempts: t.MaxAttempts, LeaseMs: t.LeaseMs, Bytes: uint32(len(t.Payload))}, now)
		return ref, nil
	}
	q.record.Counts.Fresh++
	s.pushFresh(l, ref.Seq, t)
	s.heat(q)
	return ref, nil
}

// returnTask gives a task back to its lane, to become ready at p.DueAtMs; due says what else is known of it.
func (s *State) returnTask(ref Ref, p Progress, due Due, now int64) {
	q := s.queues[ref.Queue]
	due.DueAtMs, due.Attempts = p.DueAtMs, p.Attempts
	s.journal.PutProgress(ref, p)
	s.journal.PutDue(ref, due)
	q.record.Counts.Returned++
	s.touch(q)
	s.pushReturned(q.lane(ref.Priority), ref.Seq, due, now)
}

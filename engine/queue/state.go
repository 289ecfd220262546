package queue

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrTooManyQueues says that the shard holds as many queues as Config.Queues allows.
var ErrTooManyQueues = errors.New("too many queues")

// State is one shard's state machine.
type State struct {
	cfg     Config
	journal Journal

	byName map[queueName]*Queue
	queues map[uint32]*Queue
	last   *Queue // the queue that was looked up last, by name or number: runs of one queue are the rule
	meta   Meta

	nowMs int64 // of the last Tick

	leases   map[uint64]*lease
	expiry   deadlines[*lease]
	due      deadlines[*lane]
	hot      ring[*Queue] // queues that may have both ready tasks and waiters with credit
	unchoosy bool         // waiters take what any of their queues has
	granted  []*Waiter    // have a batch that the running Dispatch is filling
	drawn    []*Waiter    // may have credit from their pools
	held     []*Waiter    // have a grant that the next Dispatch may add to
	refills  []Refill
	dirty    []*Queue
	freed    []*Queue // whose accounts are to be told

	starved        []*Queue // whose tenants are at their quota of leases
	starvedRetryMs int64

	keys    buckets
	results buckets

	ttlMs    int64 // no task that may still expire does so earlier
	ttlAsked bool  // the store is being read for those that did

	watched map[Ref]int // how often; the ends of these are reported
	ended   []Ended

	windowsTasks  int // fresh tasks in all windows
	returnedTasks int // returned tasks in all windows
	cacheBytes    int64
}

type queueName struct{ tenant, name string }

// Queue is one queue of a shard.
type Queue struct {
	record  Record
	account Account
	freed   freed
	shared  *Extras // of tasks that say nothing of their own
	lanes   [MaxPriority + 1]*lane
	waiting ring[*subscription] // of waiters with credit
	rates   rates
	hot     bool
	starved bool
	dirty   bool
}

// Tenant returns the queue's tenant.
func (q *Queue) Tenant() string { return q.record.Tenant }

// Name returns the queue's name.
func (q *Queue) Name() string { return q.record.Name }

// newQueue makes the queue of a record. Its rates begin at zero.
func (s *State) newQueue(r Record) *Queue {
	q := &Queue{record: r, account: s.cfg.Account(r.Tenant)}
	q.rates.enqueuedSeen, q.rates.completedSeen = r.Counts.Enqueued, r.Counts.Completed
	q.setPolicy(r.Policy)
	s.byName[queueName{r.Tenant, r.Name}] = q
	s.queues[r.ID] = q
	return q
}

// Recovered is what a shard's store held when it was opened.
type Recovered struct {
	Meta   Meta
	Queues []Record
	Leases []RecoveredLease
	// KeyBuckets and ResultBuckets are those that hold anything, ascending.
	KeyBuckets    []int64
	ResultBuckets []int64
	// NextExpiryMs is when the first indexed time to live is over; 0 or math.MaxInt64 if there is none.
	NextExpiryMs int64
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
		watched: map[Ref]int{},
		meta:    from.Meta,
		ttlMs:   orDefault(from.NextExpiryMs, math.MaxInt64),
	}
	s.keys = buckets{widthMs: keyBucketMs(s.cfg.KeyWindowMs), live: slices.Clone(from.KeyBuckets)}
	s.results = buckets{widthMs: resultBucketMs, live: slices.Clone(from.ResultBuckets)}
	if s.cfg.Account == nil {
		s.cfg.Account = func(string) Account { return unlimited{} }
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
	s.restoreAccounts(1)
	return s, nil
}

// recoverQueue restores a queue with empty windows: they fill when the queue is first claimed from.
func (s *State) recoverQueue(r Record) {
	q := s.newQueue(r)
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
	s.meta.NextQueue = max(s.meta.NextQueue, r.ID+1)
}

func (s *State) recoverLease(r RecoveredLease) error {
	b := &lease{id: r.Batch, refs: r.Refs, index: -1, expiresMs: math.MaxInt64, seqMin: math.MaxUint64}
	for i := range b.refs {
		ref := &b.refs[i]
		if ref.Attempt == 0 {
			continue
		}
		if s.queues[ref.Queue] == nil {
			return fmt.Errorf("lease batch %d names queue %d, which is not stored", r.Batch, ref.Queue)
		}
		b.note(ref)
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
		q = s.newQueue(Record{ID: s.meta.NextQueue, Tenant: tenant, Name: name})
		s.meta.NextQueue++
		s.touch(q)
	}
	s.last = q
	return q, nil
}

// numbered returns the queue with an id that is known to exist.
func (s *State) numbered(id uint32) *Queue {
	if q := s.last; q != nil && q.record.ID == id {
		return q
	}
	s.last = s.queues[id]
	return s.last
}

// advance lets time pass if it did.
func (s *State) advance(now int64) {
	if now != s.nowMs {
		s.Tick(now)
	}
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
	if !q.hot && !q.starved && !q.record.Paused && q.waiting.len() > 0 {
		q.hot = true
		s.hot.push(q)
	}
}

// Flush writes what is stored once per commit: the records of touched queues, and the shard's own.
// It reports false if nothing was decided since the last Flush that needs a commit.
func (s *State) Flush() bool {
	s.tellAccounts()
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
		q.rates.update(&q.record.Counts, s.nowMs)
		s.journal.PutQueue(&q.record)
		q.dirty = false
		s.dirty[i] = nil
	}
	s.dirty = s.dirty[:0]
	s.journal.PutMeta(s.meta)
	return true
}

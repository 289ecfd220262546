package queue

import (
	"fmt"
	"math"
)

// State is the state machine of one shard. It is not safe for concurrent use: see the package
// comment.
type State struct {
	env
	watches

	byName map[queueName]*Queue
	queues map[uint32]*Queue
	absent map[queueName]*Queue // queues without a record, for which waiters wait
	last   *Queue               // cache: the queue of the last lookup by name or number

	perTenant map[string]int    // number of queues with a record of each tenant
	deleted   []uint32          // queues whose records the next Flush removes
	gone      []uint32          // queues deleted since the last TakeDeleted
	idle      deadlines[*Queue] // queues that visitIdle will visit

	meta Meta

	reserved Reserved // the last reservation in the journal
	seqMin   uint64   // no queue issues a lower seq
	seqMax   uint64   // higher than all issued seqs, for reserve

	leases   map[uint64]*lease
	found    *lease   // cache: the batch of the last lookup, or nil
	extended []*lease // batches with extensions since the last Flush
	expiry   deadlines[*lease]
	due      deadlines[*lane]

	behind    ring[*lane] // lanes that must read the store to count their due tasks
	counting  int         // number of lanes with an unanswered Refill of StreamDue or StreamNotDue
	countAtMs int64       // earliest time at which askCounts requests further counts

	hot              ring[*Queue] // queues that may have both ready tasks and waiters with credit
	ignorePreference bool         // prefersAnother returns false for all waiters
	// given is the number of leases granted plus the number of closed waiters removed in this turn.
	given     int
	exhausted bool      // given reached Config.turnMax in the last Dispatch
	granted   []*Waiter // waiters with a batch that the running Dispatch fills
	drawn     []*Waiter // waiters that may have credit from their pools
	// Once waiters whose grant is retained, because the next Dispatch may add tasks to it
	held  []*Waiter
	dirty []*Queue
	// unseen contains the queues whose figures may have changed since TakeChanged last returned
	// them.
	unseen ring[*Queue]
	freed  []*Queue // queues with a nonzero Queue.freed

	sparePages    []*leasedPage
	lastEnded     lastEnded
	spareRefs     [][]LeaseRef // empty lists for new lease batches
	spareRefsRoom int          // the sum of the capacities of spareRefs
	unused        []Delivery   // an empty list for a grant, or nil

	starved        []*Queue // queues that starve excluded from dispatch
	starvedRetryMs int64

	keys    buckets
	results buckets

	markedUntilMs int64 // after this time, no mark of a removed task exists

	ttlMs int64 // a lower bound of the time when the next time to live ends

	windowsTasks  int // number of fresh tasks in all windows
	freshRoom     int // capacity of all windows of fresh tasks
	returnedTasks int // number of returned tasks in all windows
	cacheBytes    int64
}

type queueName struct{ tenant, name string }

// Queue is one queue of a shard.
type Queue struct {
	record  Record
	account Account
	freed   freed
	shared  *Extras // Extras of all tasks that set no option themselves
	lanes   [MaxPriority + 1]*lane
	waiting waiters // subscriptions of waiters that may get tasks
	leased  leasedRefs
	rates   rates
	hot     bool
	starved bool
	awaits  bool // it gets no turn until a Refill is answered
	dirty   bool
	unseen  bool // the queue is in State.unseen
	stored  bool // the queue has a record
	// unsound means that the recovered counts, from an older server, did not add up: Flush does not
	// check them.
	unsound bool

	subscriptions int32 // number of subscriptions, including those of waiters without credit
	// keyedUntilS is the time after which no key of the queue is valid. It is in seconds to save
	// memory, since a node may have many queues.
	keyedUntilS uint32
	// removableMs is the earliest time of deletion: Config.IdleMs after the last use of the queue,
	// but not before its last result and key have expired.
	removableMs int64
	idleMs      int64 // deadline in State.idle
	index       int   // place in State.idle
}

// Tenant returns the queue's tenant.
func (q *Queue) Tenant() string { return q.record.Tenant }

// Name returns the queue's name.
func (q *Queue) Name() string { return q.record.Name }

// Recovered is the part of a shard's store that a State needs when it starts.
type Recovered struct {
	Meta     Meta
	Reserved Reserved // zero if nothing was reserved
	Queues   []Record
	Leases   []RecoveredLease
	// KeyBuckets and ResultBuckets contain the times of the nonempty buckets, ascending.
	KeyBuckets    []int64
	ResultBuckets []int64
	// Sums contains the tenants' charges for the records in these buckets.
	Sums []Sum
	// NextExpiryMs is the earliest time when a task's time to live ends; 0 or math.MaxInt64 if
	// there is no such task.
	NextExpiryMs int64
}

// RecoveredLease is a stored lease batch. The refs of tasks that were settled after the batch was
// written have Attempt 0.
type RecoveredLease struct {
	Batch uint64
	Refs  []LeaseRef
	// Extended contains the indexes in Refs of the tasks with a stored extension. Refs already
	// contains the extended expiries.
	Extended []int
}

// New returns a state that continues from the recovered contents and writes its decisions to
// journal. It fails if a lease names a queue that is not stored.
func New(cfg Config, journal Journal, from Recovered) (*State, error) {
	s := &State{
		env:       env{cfg: cfg.withDefaults(), journal: journal},
		watches:   watches{tracked: map[Ref]*tracking{}, watched: map[Ref]int{}},
		byName:    map[queueName]*Queue{},
		queues:    map[uint32]*Queue{},
		absent:    map[queueName]*Queue{},
		leases:    map[uint64]*lease{},
		perTenant: map[string]int{},
		meta:      from.Meta,
		ttlMs:     orDefault(from.NextExpiryMs, math.MaxInt64),
	}
	s.keys = newBuckets(KeptKeys, keyBucketMs(s.cfg.KeyWindowMs), from.KeyBuckets, from.Sums)
	s.results = newBuckets(KeptResults, resultBucketMs, from.ResultBuckets, from.Sums)
	if s.cfg.Account == nil {
		s.cfg.Account = func(string) Account { return unlimited{} }
	}
	s.meta.NextBatch = max(s.meta.NextBatch, 1)
	s.skipReserved(from.Reserved)
	for i := range from.Queues {
		s.recoverQueue(from.Queues[i])
	}
	s.keepRecovered()
	for _, r := range from.Leases {
		if err := s.recoverLease(r); err != nil {
			return nil, err
		}
	}
	s.restoreAccounts(1)
	if s.cfg.Counting != nil {
		s.cfg.Counting(true)
	}
	return s, nil
}

// recoverQueue restores a queue with empty windows, which are filled when a waiter first claims
// from the queue.
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
			s.recoverDue(l, r.Due[p])
		}
	}
	s.meta.NextQueue = max(s.meta.NextQueue, r.ID+1)
}

func (s *State) recoverLease(r RecoveredLease) error {
	b := &lease{id: r.Batch, refs: r.Refs, index: -1, expiresMs: math.MaxInt64}
	for i := range b.refs {
		ref := &b.refs[i]
		if ref.Attempt == 0 {
			continue
		}
		q := s.queues[ref.Queue]
		if q == nil {
			return fmt.Errorf("lease batch %d names queue %d, which is not stored", r.Batch, ref.Queue)
		}
		b.note(ref)
		s.noteLeased(q, ref.Seq, Token(r.Batch, i))
	}
	if len(r.Extended) > 0 {
		x := b.extended()
		for _, i := range r.Extended {
			x.stored.add(i)
		}
	}
	s.meta.NextBatch = max(s.meta.NextBatch, r.Batch+1)
	if b.live == 0 {
		s.journal.DropLease(b.id)
		s.dropExtensions(b)
		return nil
	}
	s.leases[b.id] = b
	s.expiry.set(b)
	return nil
}

// numbered returns the queue with an id. The queue must exist.
func (s *State) numbered(id uint32) *Queue {
	if q := s.last; q != nil && q.record.ID == id {
		return q
	}
	s.last = s.queues[id]
	return s.last
}

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

func (s *State) touch(q *Queue) {
	s.show(q)
	if !q.dirty {
		q.dirty = true
		s.dirty = append(s.dirty, q)
		s.used(q)
	}
}

// heat marks the queue as one that may have both ready tasks and waiters.
func (s *State) heat(q *Queue) {
	if !q.hot && !q.starved && !q.record.Paused && q.waiting.len() > 0 {
		q.hot = true
		s.hot.push(q)
	}
}

// Flush writes to the journal the records that are stored once per commit: those of the changed
// queues and of the shard. It returns false if it wrote nothing; the journal may still have
// received other writes.
func (s *State) Flush() bool {
	s.reportFreed()
	extended := s.flushExtended()
	if len(s.dirty) == 0 && len(s.deleted) == 0 {
		return extended
	}
	for _, id := range s.deleted {
		s.journal.DropQueue(id)
	}
	s.deleted = s.deleted[:0]
	for i, q := range s.dirty {
		s.dirty[i] = nil
		if q.dirty = false; !q.stored { // the queue was deleted after the change
			continue
		}
		for p, l := range q.lanes {
			if l != nil {
				q.record.Lanes |= 1 << p
				q.record.Cursors[p] = l.cursor
				q.record.Due[p] = l.dueCount(s.nowMs)
				l.unsaved = 0
			}
		}
		if c := &q.record.Counts; !c.addUp() && !q.unsound {
			broken("the counts of queue %q of tenant %q do not add up: %+v", q.record.Name, q.record.Tenant, *c)
		}
		q.rates.update(&q.record.Counts, s.nowMs)
		s.seqMax = max(s.seqMax, q.record.NextSeq)
		s.journal.PutQueue(&q.record)
	}
	s.dirty = s.dirty[:0]
	s.keys.flush(s.journal)
	s.results.flush(s.journal)
	s.journal.PutMeta(s.meta)
	if s.cfg.Reserve {
		s.reserve()
	}
	return true
}

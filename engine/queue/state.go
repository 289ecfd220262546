package queue

import (
	"fmt"
	"math"
)

// State is one shard's state machine.
type State struct {
	cfg     Config
	journal Journal

	byName map[queueName]*Queue
	queues map[uint32]*Queue
	absent map[queueName]*Queue // queues without a record, each with a waiter
	last   *Queue               // the queue of the last lookup by name or number, since successive lookups are often of the same queue

	perTenant map[string]int    // how many queues each tenant has
	deleted   []uint32          // queues whose records are to be removed
	gone      []uint32          // queues that were deleted since TakeDeleted was called last
	idle      deadlines[*Queue] // queues to be visited by visitIdle

	meta Meta

	reserved Reserved // the last reservation in the journal
	seqMin   uint64   // no queue issues a lower seq
	seqMax   uint64   // above all issued seqs

	nowMs int64 // of the last Tick

	leases   map[uint64]*lease
	found    *lease   // of the last look-up, since successive settlements are often of one batch; nil: none
	extended []*lease // since the last Flush
	expiry   deadlines[*lease]
	due      deadlines[*lane]

	behind    ring[*lane] // lanes for which the store must be read to count due tasks
	counting  int         // the number of lanes whose counts were requested
	countAtMs int64       // when counts may be requested next

	hot              ring[*Queue] // queues that may have both ready tasks and waiters with credit
	ignorePreference bool         // waiters take what any of their queues has
	given            int          // leases granted in this turn, and closed waiters left out of it
	exhausted        bool         // given reached its limit in the last Dispatch
	worked           int          // items handled since Worked was called
	granted          []*Waiter    // waiters with a batch that the running Dispatch is filling
	drawn            []*Waiter    // waiters that may have credit from their pools
	held             []*Waiter    // waiters with a grant that the next Dispatch may add to
	refills          []Refill
	dirty            []*Queue
	unseen           ring[*Queue] // queues whose figures may have changed since TakeChanged returned them
	freed            []*Queue     // queues whose freed room is to be reported to their accounts

	sparePages    []*leasedPage
	lastEnded     lastEnded
	spareRefs     [][]LeaseRef // empty, for lease batches under way
	spareRefsRoom int          // the sum of their capacities
	unused        []Delivery   // an empty list for a grant; may be nil

	starved        []*Queue // queues whose tenants are at their quota of leases
	starvedRetryMs int64

	keys    buckets
	results buckets

	markedUntilMs int64 // no mark of a removed task is kept for longer

	ttlMs    int64        // no task that may still expire does so earlier
	expiring map[Ref]bool // not nil while the store is read for expired tasks: the tasks that changed since the question

	tracked map[Ref]*tracking
	watched map[Ref]int // the number of watches of a task, whose end is reported
	ended   []Ended

	windowsTasks  int // fresh tasks in all windows
	freshRoom     int // the capacity of all windows of fresh tasks
	returnedTasks int // returned tasks in all windows
	cacheBytes    int64
}

type queueName struct{ tenant, name string }

// Queue is one queue of a shard.
type Queue struct {
	record  Record
	account Account
	freed   freed
	shared  *Extras // of all tasks without options of their own
	lanes   [MaxPriority + 1]*lane
	waiting waiters // with credit
	leased  leasedRefs
	rates   rates
	hot     bool
	starved bool
	awaits  bool // its next turn is after the answer to a Refill
	dirty   bool
	unseen  bool // is in State.unseen
	stored  bool // has a record
	unsound bool // the recovered counts did not add up: an older server wrote them, and they are not checked

	subscriptions int32  // of waiters, with or without credit
	keyedUntilS   uint32 // see keyedUntilMs; in seconds, because a node may have many queues
	removableMs   int64  // when it may be deleted: Config.IdleMs after its last use, and not before its last result and key expire
	idleMs        int64  // deadline in State.idle
	index         int    // place in State.idle
}

// Tenant returns the queue's tenant.
func (q *Queue) Tenant() string { return q.record.Tenant }

// Name returns the queue's name.
func (q *Queue) Name() string { return q.record.Name }

// Recovered is what a shard's store held when it was opened.
type Recovered struct {
	Meta     Meta
	Reserved Reserved // zero if nothing was reserved
	Queues   []Record
	Leases   []RecoveredLease
	// KeyBuckets and ResultBuckets are the buckets that are not empty, ascending.
	KeyBuckets    []int64
	ResultBuckets []int64
	// Sums are what the tenants are charged for these buckets.
	Sums []Sum
	// NextExpiryMs is when the first indexed time to live is over; 0 or math.MaxInt64 if there is none.
	NextExpiryMs int64
}

// RecoveredLease is a stored lease batch; refs that were settled since it was written have Attempt 0.
type RecoveredLease struct {
	Batch uint64
	Refs  []LeaseRef
	// Extended are the indexes of Refs that have a stored extension. Refs include the extensions.
	Extended []int
}

// New returns a state that continues from what was recovered. Decisions are written to journal.
func New(cfg Config, journal Journal, from Recovered) (*State, error) {
	s := &State{
		cfg:     cfg.withDefaults(),
		journal: journal,
		byName:  map[queueName]*Queue{},
		queues:  map[uint32]*Queue{},
		absent:  map[queueName]*Queue{},
		leases:  map[uint64]*lease{},
		tracked: map[Ref]*tracking{},
		watched: map[Ref]int{},

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

// recoverQueue restores a queue with empty windows, which are filled when a waiter first claims from the queue.
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

// numbered returns the queue with an id, which must exist.
func (s *State) numbered(id uint32) *Queue {
	if q := s.last; q != nil && q.record.ID == id {
		return q
	}
	s.last = s.queues[id]
	return s.last
}

// advance calls Tick if the time changed.
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

// Worked returns how many items were handled since the last call: tasks enqueued, granted, settled or purged, leases expired, waiters
// visited, and queues whose figures were taken.
func (s *State) Worked() int {
	n := s.worked
	s.worked = 0
	return n
}

// touch notes that the queue's record must be written with this commit.
func (s *State) touch(q *Queue) {
	s.show(q)
	if !q.dirty {
		q.dirty = true
		s.dirty = append(s.dirty, q)
		s.used(q)
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
		if q.dirty = false; !q.stored { // the queue was deleted since
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

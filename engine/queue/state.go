package queue

import "math"

// State is the state machine of one shard. It is not safe for concurrent use: see the package
// comment. Its own methods are the commands; the parts that it embeds have the fields.
type State struct {
	env
	accounts
	queues
	watches
	lanes
	leases
	retention
	cancelled
	dispatcher
	recurring    recurring // fields, because their names are those of other parts
	limiter      limiter
	dependencies dependencies

	reserved    Reserved // the last reservation in the journal
	extrasBlock extrasBlock
}

// Recovered is the part of a shard's store that a State needs when it starts.
type Recovered struct {
	Meta     Meta
	Reserved Reserved // zero if nothing was reserved
	Queues   []Record
	Leases   []RecoveredLease
	// KeyBuckets, UniqueBuckets and ResultBuckets contain the times of the nonempty buckets,
	// ascending.
	KeyBuckets    []int64
	UniqueBuckets []int64
	ResultBuckets []int64
	// Sums contains the tenants' charges for the records in these buckets.
	Sums      []Sum
	Recurring []RecoveredRecurring
	// Outgoing has bit n set if messages to shard n are stored.
	Outgoing uint32
	// NextExpiryMs is the earliest time when a task's time to live ends; 0 or math.MaxInt64 if
	// there is no such task.
	NextExpiryMs int64
}

// RecoveredLease is a stored lease batch. The refs of tasks that were settled after the batch was
// written have Attempt 0.
type RecoveredLease struct {
	Batch     uint64
	Refs      []LeaseRef
	ClaimedMs int64 // 0 if it was not stored
	// Extended contains the indexes in Refs of the tasks with a stored extension. Refs already
	// contains the extended expiries.
	Extended []int
}

// New returns a state that continues from the recovered contents and writes its decisions to
// journal. It fails if a lease names a queue that is not stored.
func New(cfg Config, journal Journal, from Recovered) (*State, error) {
	s := &State{
		env:      env{cfg: cfg.withDefaults(), journal: journal},
		watches:  watches{tracked: map[Ref]*tracking{}, watched: map[Ref]int{}, runs: map[Ref]*recurringTask{}},
		reserved: from.Reserved,
	}
	if s.cfg.Account == nil {
		s.cfg.Account = func(string) Account { return unlimited{} }
	}
	s.queues = queues{
		env: &s.env, accounts: &s.accounts,
		byName: map[queueName]*Queue{}, byID: map[uint32]*Queue{}, names: newNames(), absent: map[queueName]*Queue{}, perTenant: map[string]int{},
		nextID: max(from.Meta.NextQueue, from.Reserved.Queue), seqMin: from.Reserved.Seq,
	}
	s.lanes = lanes{env: &s.env, queues: &s.queues, watches: &s.watches}
	s.leases = leases{
		env: &s.env, queues: &s.queues, batches: map[uint64]*lease{},
		nextBatch: max(from.Meta.NextBatch, from.Reserved.Batch, 1),
	}
	s.dependencies = dependencies{
		env: &s.env, accounts: &s.accounts, queues: &s.queues, watches: &s.watches, leases: &s.leases,
		sent: from.Outgoing, // so that the caller delivers them
	}
	s.retention = retention{
		env: &s.env, accounts: &s.accounts, queues: &s.queues, watches: &s.watches, depends: &s.dependencies,
		keys:    newBuckets(KeptKeys, keyBucketMs(s.cfg.KeyWindowMs), from.KeyBuckets, from.Sums),
		uniques: newBuckets(KeptUniques, 0, from.UniqueBuckets, from.Sums),
		results: newBuckets(KeptResults, resultBucketMs, from.ResultBuckets, from.Sums),
		ttlMs:   orDefault(from.NextExpiryMs, math.MaxInt64),
	}
	s.limiter = limiter{env: &s.env, queues: &s.queues, lanes: &s.lanes, leases: &s.leases}
	s.cancelled = cancelled{max: s.cfg.cancelledMax}
	s.dispatcher = dispatcher{env: &s.env, queues: &s.queues, lanes: &s.lanes, leases: &s.leases, retention: &s.retention, limiter: &s.limiter, holders: map[uint32]*Waiter{}}
	for i := range from.Queues {
		s.recoverQueue(from.Queues[i])
	}
	s.keepRecovered()
	for _, r := range from.Leases {
		if err := s.recoverLease(r); err != nil {
			return nil, err
		}
	}
	s.limiter.recover()
	s.recurring = newRecurring()
	for i := range from.Recurring {
		if err := s.recoverRecurring(&from.Recurring[i]); err != nil {
			return nil, err
		}
	}
	s.restoreAccounts(1)
	if s.cfg.Counting != nil {
		s.cfg.Counting(true)
	}
	return s, nil
}

// Flush writes to the journal the records that are stored once per commit: those of the changed
// queues and of the shard. It returns false if it wrote nothing; the journal may still have
// received other writes.
func (s *State) Flush() bool {
	s.reportFreed()
	extended := s.flushExtended()
	if !s.flushQueues() && s.dependencies.sent == 0 { // messages have numbers of lease batches
		return extended
	}
	s.keys.flush(s.journal)
	s.uniques.flush(s.journal)
	s.results.flush(s.journal)
	s.journal.PutMeta(Meta{NextBatch: s.nextBatch, NextQueue: s.nextID})
	if s.cfg.Reserve {
		s.reserve()
	}
	return true
}

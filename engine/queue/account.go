package queue

// Account counts the tasks, bytes and leases of one tenant over all shards against its quotas. Its
// methods are safe for concurrent use and never block.
type Account interface {
	// Add reserves room for one more task and its stored bytes. It returns a *QuotaError if a quota
	// would be exceeded.
	Add(bytes int64) error
	// Charge reserves room for stored bytes other than new tasks. It returns a *QuotaError if the
	// quota would be exceeded.
	Charge(bytes int64) error
	// Remove frees the room of completed or removed tasks, and of bytes that are no longer stored.
	Remove(tasks, bytes int64)
	// Lease returns how many of n further leases are allowed, and counts them immediately.
	Lease(n int) int
	// EndLeases frees the room of n ended leases.
	EndLeases(n int)
	// Restore adds the contents of a shard when it starts. The numbers are negative when the shard
	// leaves the accounts.
	Restore(tasks, bytes, leases int64)
}

// unlimited is the account of every tenant if there are no quotas.
type unlimited struct{}

func (unlimited) Add(int64) error             { return nil }
func (unlimited) Charge(int64) error          { return nil }
func (unlimited) Remove(int64, int64)         {}
func (unlimited) Lease(n int) int             { return n }
func (unlimited) EndLeases(int)               {}
func (unlimited) Restore(int64, int64, int64) {}

// freed is room that a queue has freed but not yet reported to its tenant's account.
type freed struct {
	bytes         int64
	tasks, leases int32 // of one commit
}

// free returns the counter of a queue's freed room. Freed room is reported to the account once per
// commit and before tasks are leased, not at each change: shards share the account, so each call
// costs a contended write.
func (s *State) free(q *Queue) *freed {
	if q.freed == (freed{}) {
		s.freed = append(s.freed, q)
	}
	return &q.freed
}

func (s *State) reportFreed() {
	for i, q := range s.freed {
		if q.freed.tasks > 0 || q.freed.bytes > 0 {
			q.account.Remove(int64(q.freed.tasks), q.freed.bytes)
		}
		if q.freed.leases > 0 {
			q.account.EndLeases(int(q.freed.leases))
		}
		q.freed = freed{}
		s.freed[i] = nil
	}
	s.freed = s.freed[:0]
}

// charge reserves room for bytes in an account. Room that this commit freed before is available.
func (s *State) charge(a Account, bytes int64) error {
	err := a.Charge(bytes)
	if err != nil && len(s.freed) > 0 {
		s.reportFreed()
		err = a.Charge(bytes)
	}
	return err
}

// leaseRetryMs is the time after which dispatch tries a queue again whose tenant reached the quota
// of leases. The retry is necessary because the tenant's leases may end in another shard, which
// does not notify this one.
const leaseRetryMs = 50

// starve removes a queue from dispatch until leases of its tenant end, or leaseRetryMs has passed.
func (s *State) starve(q *Queue, now int64) {
	if !q.starved {
		q.starved = true
		s.starved = append(s.starved, q)
		s.starvedRetryMs = now + leaseRetryMs
	}
}

// feed returns the starved queues to dispatch.
func (s *State) feed() {
	for i, q := range s.starved {
		q.starved = false
		s.starved[i] = nil
		s.heat(q)
	}
	s.starved = s.starved[:0]
}

// LeaveAccounts subtracts the contents of the shard from the tenants' accounts. From now on the
// shard's next leader counts them.
func (s *State) LeaveAccounts() {
	if s.cfg.Counting != nil {
		s.cfg.Counting(false)
	}
	s.reportFreed()
	s.restoreAccounts(-1)
}

func (s *State) restoreAccounts(sign int64) {
	for _, q := range s.queues {
		c := q.record.Counts
		q.account.Restore(sign*int64(c.held()), sign*q.record.chargedBytes(), sign*int64(c.Leased))
	}
	for _, b := range []*buckets{&s.keys, &s.results} {
		for at, sum := range b.sums {
			s.cfg.Account(at.tenant).Restore(0, sign*sum.bytes, 0)
		}
	}
}

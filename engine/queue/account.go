package queue

// Account counts what one tenant holds over all shards, against its quotas. Its methods are safe for
// concurrent use and never block.
type Account interface {
	// Add takes room for one more task and the bytes that are stored with it; it returns a *QuotaError when a quota refuses.
	Add(bytes int64) error
	// Charge takes room for bytes that are stored beside tasks; it returns a *QuotaError when the quota refuses.
	Charge(bytes int64) error
	// Remove gives back the room of tasks that are done or were removed, and of bytes that are no longer stored.
	Remove(tasks, bytes int64)
	// Lease returns how many of n further leases are allowed; they count at once.
	Lease(n int) int
	// EndLeases gives back leases.
	EndLeases(n int)
	// Restore counts what a shard holds when it starts; negative numbers when the shard leaves the accounts.
	Restore(tasks, bytes, leases int64)
}

// unlimited is the account of every tenant when no quotas are kept.
type unlimited struct{}

func (unlimited) Add(int64) error             { return nil }
func (unlimited) Charge(int64) error          { return nil }
func (unlimited) Remove(int64, int64)         {}
func (unlimited) Lease(n int) int             { return n }
func (unlimited) EndLeases(int)               {}
func (unlimited) Restore(int64, int64, int64) {}

// freed is room that a queue's tenant does not use any more and that its account still counts.
type freed struct {
	bytes         int64
	tasks, leases int32 // of one commit
}

// free returns where to count room that is freed. Freed room is reported to the account once per commit, and before leases are handed
// out, because shards share the account and each call costs a contended write.
func (s *State) free(q *Queue) *freed {
	if q.freed == (freed{}) {
		s.freed = append(s.freed, q)
	}
	return &q.freed
}

// reportFreed gives freed room back to the accounts.
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

// charge takes room for bytes in an account. Room that this commit freed before counts as free.
func (s *State) charge(a Account, bytes int64) error {
	err := a.Charge(bytes)
	if err != nil && len(s.freed) > 0 {
		s.reportFreed()
		err = a.Charge(bytes)
	}
	return err
}

// leaseRetryMs is how soon dispatch tries a queue again after its tenant reached the quota of leases. The retry is needed because
// the tenant's leases may end in another shard, which does not notify this one.
const leaseRetryMs = 50

// starve takes a queue out of dispatch until leases of its tenant end.
func (s *State) starve(q *Queue, now int64) {
	if !q.starved {
		q.starved = true
		s.starved = append(s.starved, q)
		s.starvedRetryMs = now + leaseRetryMs
	}
}

// feed lets the starved queues try again.
func (s *State) feed() {
	for i, q := range s.starved {
		q.starved = false
		s.starved[i] = nil
		s.heat(q)
	}
	s.starved = s.starved[:0]
}

// LeaveAccounts takes what the shard holds out of the tenants' accounts: from now on the shard's next leader counts it.
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

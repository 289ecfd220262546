package queue

// Account tracks how much of its quotas one tenant uses in all shards: tasks, stored bytes and
// leases. Its methods are safe for concurrent use and never block.
type Account interface {
	// Add charges the tenant for one more task and its stored bytes. It returns a *QuotaError if a
	// quota would be exceeded.
	Add(bytes int64) error
	// Charge charges the tenant for stored bytes other than those of new tasks. It returns a
	// *QuotaError if the quota would be exceeded.
	Charge(bytes int64) error
	// Remove subtracts completed or removed tasks, and bytes that are no longer stored.
	Remove(tasks, bytes int64)
	// Lease returns how many of n further leases the quota allows, and adds that number to the
	// tenant's leases.
	Lease(n int) int
	// EndLeases subtracts n ended leases.
	EndLeases(n int)
	// Restore adds the contents of a shard when the shard starts. It is called with negative
	// numbers when the node stops leading the shard (see State.LeaveAccounts).
	Restore(tasks, bytes, leases int64)
}

type unlimited struct{}

func (unlimited) Add(int64) error             { return nil }
func (unlimited) Charge(int64) error          { return nil }
func (unlimited) Remove(int64, int64)         {}
func (unlimited) Lease(n int) int             { return n }
func (unlimited) EndLeases(int)               {}
func (unlimited) Restore(int64, int64, int64) {}

// freed is what a queue no longer uses, but has not yet subtracted from its tenant's account. bytes is
// negative if a task took the room of a replaced one, whose entry in the history then has no room.
type freed struct {
	bytes         int64
	tasks, leases int32 // int32 suffices for one commit
}

// accounts contains the queues with freed tasks, bytes or leases.
type accounts struct {
	freed []*Queue // queues with a nonzero Queue.freed
}

// free returns the queue's counters of freed tasks, bytes and leases, which the caller increases.
// reportFreed subtracts the counters from the account once per commit and before tasks are leased,
// not at each change: shards share the account, so each call to it costs a contended write.
func (ac *accounts) free(q *Queue) *freed {
	if q.freed == (freed{}) {
		ac.freed = append(ac.freed, q)
	}
	return &q.freed
}

func (ac *accounts) reportFreed() {
	for i, q := range ac.freed {
		if q.freed.tasks > 0 || q.freed.bytes != 0 {
			q.account.Remove(int64(q.freed.tasks), q.freed.bytes)
		}
		if q.freed.leases > 0 {
			q.account.EndLeases(int(q.freed.leases))
		}
		q.freed = freed{}
		ac.freed[i] = nil
	}
	ac.freed = ac.freed[:0]
}

// charge charges an account for bytes. If the quota refuses them, it first subtracts what this
// commit has freed, and tries again.
func (ac *accounts) charge(a Account, bytes int64) error {
	err := a.Charge(bytes)
	if err != nil && len(ac.freed) > 0 {
		ac.reportFreed()
		err = a.Charge(bytes)
	}
	return err
}

// LeaveAccounts subtracts the contents of the shard from the tenants' accounts on this node. From
// now on, the accounts of the shard's next leader include them.
func (s *State) LeaveAccounts() {
	if s.cfg.Counting != nil {
		s.cfg.Counting(false)
	}
	s.reportFreed()
	s.restoreAccounts(-1)
}

func (s *State) restoreAccounts(sign int64) {
	for _, q := range s.byID {
		c := q.record.Counts
		q.account.Restore(sign*int64(c.held()), sign*q.record.chargedBytes(), sign*int64(c.Leased))
	}
	s.recurring.byName.Ascend(func(r *recurringTask) bool {
		r.queue.account.Restore(0, sign*r.Spec.bytes(r.Name), 0)
		return true
	})
	for _, b := range []*buckets{&s.keys, &s.uniques, &s.results} {
		for at, sum := range b.sums {
			s.cfg.Account(at.tenant).Restore(0, sign*sum.bytes, 0)
		}
	}
}

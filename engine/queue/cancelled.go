package queue

// CancelledLease is a lease that ended because its task was cancelled.
type CancelledLease struct {
	Waiter *Waiter // the waiter that the task was leased to
	Ref    Ref
	Token  uint64
}

// cancelled remembers the leases that ended most recently because their tasks were cancelled. It
// makes Settle refuse such a lease with ErrCancelled, and reports the lease to its waiter. Nothing
// of it is stored: after a restart, Settle returns ErrStaleToken, as for a lease that it has
// forgotten.
type cancelled struct {
	max    int                      // maximum number of remembered leases
	leases map[uint64]cancelledTask // by token
	order  []uint64                 // the tokens, from the oldest; a ring once it is full
	oldest int                      // the index of the oldest token in the full ring
	unread []CancelledLease         // not returned by CancelledLeases yet
}

type cancelledTask struct {
	ref    Ref
	tenant string // stored here because the task's queue may be deleted
}

// CancelledLeases returns the leases of waiters that Cancel has ended since its last call. It omits
// leases of Once waiters, of waiters that have ended, and from before a recovery.
func (c *cancelled) CancelledLeases() []CancelledLease {
	unread := c.unread
	c.unread = nil
	return unread
}

func (c *cancelled) noteCancelled(token uint64, task cancelledTask) {
	if c.leases == nil {
		c.leases = map[uint64]cancelledTask{}
	}
	if len(c.order) < c.max {
		c.order = append(c.order, token)
	} else {
		delete(c.leases, c.order[c.oldest])
		c.order[c.oldest] = token
		c.oldest = (c.oldest + 1) % c.max
	}
	c.leases[token] = task
}

// refusal returns the error of a settlement whose token is not that of the task's current lease.
func (c *cancelled) refusal(tenant string, t *Settlement) error {
	if task, found := c.leases[t.Token]; found && task == (cancelledTask{t.Ref, tenant}) {
		return ErrCancelled
	}
	return ErrStaleToken
}

package queue

// AttemptsKept is the maximum number of stored failed attempts of one task. At least the last
// AttemptsKept/2 attempts are stored, unless a quota is exhausted.
const AttemptsKept = 32

// History is the charge for a task's stored attempts. Attempts are grouped into parts of
// AttemptsKept/2 attempts. At most two parts are stored: the part of the newest attempt and the
// part before it. Older attempts are dropped one whole part at a time. History contains the charge
// of each part, so that a part can be dropped without reading its attempts.
type History struct {
	NewestBytes uint32 // charge of the part of the newest attempt
	BeforeBytes uint32 // charge of the part before it
}

func (h History) bytes() int64 { return int64(h.NewestBytes) + int64(h.BeforeBytes) }

// remember counts a failed attempt, adds it to the history of a leased task, and drops attempts that are too
// old. If the tenant's quota of bytes is exhausted, it omits the attempt, because a failure must
// always take effect.
func (r *retention) remember(ref *LeaseRef, a Attempt) {
	r.queues.numbered(ref.Queue).counting().attempt(a.Outcome)
	r.storeAttempt(ref, a)
}

// storeAttempt is remember for an attempt that no worker made.
func (r *retention) storeAttempt(ref *LeaseRef, a Attempt) {
	q := r.queues.numbered(ref.Queue)
	c := &q.record.Counts
	r.recent.add(Failure{Tenant: q.record.Tenant, Queue: q.record.Name, Ref: ref.Ref, Number: ref.Attempt, Attempt: a})
	// it starts a new part
	if n, part := ref.Attempt, r.cfg.historyPart; n > 1 && (n-1)%part == 0 {
		if n > 2*part {
			r.journal.DropAttempts(ref.Ref, n-2*part, n-part-1)
			c.HistoryBytes -= uint64(ref.History.BeforeBytes)
			r.accounts.free(q).bytes += int64(ref.History.BeforeBytes)
		}
		ref.History = History{BeforeBytes: ref.History.NewestBytes}
	}
	bytes := AttemptBytes(a.Error)
	if r.accounts.charge(q.account, bytes) != nil {
		return
	}
	ref.History.NewestBytes += uint32(bytes)
	c.HistoryBytes += uint64(bytes)
	r.journal.PutAttempt(ref.Ref, ref.Attempt, a)
}

// forget drops the history of a task. attempts is the number of the last attempt that may be
// stored.
func (r *retention) forget(ref *LeaseRef, attempts uint32) {
	if attempts > 0 {
		r.journal.DropAttempts(ref.Ref, 1, attempts)
	}
	r.queues.numbered(ref.Queue).record.Counts.HistoryBytes -= uint64(ref.History.bytes())
}

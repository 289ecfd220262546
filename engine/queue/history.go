package queue

// AttemptsKept bounds the stored failed attempts of one task. At least the last AttemptsKept/2 are
// stored.
const AttemptsKept = 32

// History is the charge of a task's stored attempts. Attempts form parts of AttemptsKept/2, and are
// dropped one whole part at a time: a history has the part of the newest attempt and the part
// before. With the sums of these two, a part can be dropped without reading its attempts.
type History struct {
	NewestBytes uint32 // of the part of the newest attempt
	BeforeBytes uint32 // of the part before
}

func (h History) bytes() int64 { return int64(h.NewestBytes) + int64(h.BeforeBytes) }

// remember adds a failed attempt to the history of a leased task, and drops attempts that are too
// old. If the tenant's quota of bytes is exhausted, it omits the attempt, because a failure must
// always take effect.
func (s *State) remember(ref *LeaseRef, a Attempt) {
	q := s.numbered(ref.Queue)
	c := &q.record.Counts
	if n, part := ref.Attempt, s.cfg.historyPart; n > 1 && (n-1)%part == 0 { // a new part begins
		if n > 2*part {
			s.journal.DropAttempts(ref.Ref, n-2*part, n-part-1)
			c.HistoryBytes -= uint64(ref.History.BeforeBytes)
			s.free(q).bytes += int64(ref.History.BeforeBytes)
		}
		ref.History = History{BeforeBytes: ref.History.NewestBytes}
	}
	bytes := AttemptBytes(a.Error)
	if s.charge(q.account, bytes) != nil {
		return
	}
	ref.History.NewestBytes += uint32(bytes)
	c.HistoryBytes += uint64(bytes)
	s.journal.PutAttempt(ref.Ref, ref.Attempt, a)
}

// forget drops the history of a task that has used the given number of attempts.
func (s *State) forget(ref *LeaseRef, attempts uint32) {
	if attempts > 0 {
		s.journal.DropAttempts(ref.Ref, 1, attempts)
	}
	s.numbered(ref.Queue).record.Counts.HistoryBytes -= uint64(ref.History.bytes())
}

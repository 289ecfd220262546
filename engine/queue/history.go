package queue

// AttemptsKept is how many failed attempts of one task are kept at most: the last ones. At least the last half as many are.
const AttemptsKept = 32

// History is what the kept attempts of a task are charged. Attempts are dropped in parts of half as many as are kept at most:
// a history has the part of the newest attempt and the one before. So two sums are enough to know what a part frees
// without reading its attempts.
type History struct {
	NewestBytes uint32 // of the part of the newest attempt
	BeforeBytes uint32 // of the part before
}

func (h History) bytes() int64 { return int64(h.NewestBytes) + int64(h.BeforeBytes) }

// remember adds a failed attempt to the history of a leased task, and drops attempts that are too old. At the tenant's
// quota of bytes the attempt is left out: a failure must take effect whatever its text.
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

// forget drops the history of a task of which so many attempts were used up.
func (s *State) forget(ref *LeaseRef, attempts uint32) {
	if attempts > 0 {
		s.journal.DropAttempts(ref.Ref, 1, attempts)
	}
	s.numbered(ref.Queue).record.Counts.HistoryBytes -= uint64(ref.History.bytes())
}

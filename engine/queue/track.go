package queue

// Track has the changes of a task counted, so that what was read of the task outside of the state can be told from what
// holds now. It returns the count so far. Each Track needs one Untrack.
func (s *State) Track(ref Ref) uint64 {
	t := s.tracked[ref]
	if t == nil {
		t = &tracking{}
		s.tracked[ref] = t
	}
	t.users++
	return t.changes
}

// Changes returns how often a tracked task changed.
func (s *State) Changes(ref Ref) uint64 { return s.tracked[ref].changes }

// Untrack takes back one Track.
func (s *State) Untrack(ref Ref) {
	if t := s.tracked[ref]; t.users > 1 {
		t.users--
	} else {
		delete(s.tracked, ref)
	}
}

type tracking struct {
	users   int
	changes uint64
}

// changed notes that the records of a task change.
func (s *State) changed(ref Ref) {
	if len(s.tracked) == 0 {
		return
	}
	if t := s.tracked[ref]; t != nil {
		t.changes++
	}
}

package queue

// Track starts counting the changes of a task and returns the count so far. A caller that reads the
// task in another goroutine compares the counts to learn whether its reading is current. Each Track
// needs one Untrack.
func (s *State) Track(ref Ref) uint64 {
	t := s.tracked[ref]
	if t == nil {
		t = &tracking{}
		s.tracked[ref] = t
	}
	t.users++
	return t.changes
}

// Changes returns the change count of a tracked task.
func (s *State) Changes(ref Ref) uint64 { return s.tracked[ref].changes }

// Untrack undoes one Track.
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

// changed counts a change of a task's records.
func (s *State) changed(ref Ref) {
	if s.expiring != nil {
		s.expiring[ref] = true
	}
	if len(s.tracked) == 0 {
		return
	}
	if t := s.tracked[ref]; t != nil {
		t.changes++
	}
}

package queue

// Track starts to count the changes of a task, and returns the count so far. A caller that reads
// the task in another goroutine compares this count with Changes to learn whether the task changed
// in between. For each Track, Untrack must be called once.
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

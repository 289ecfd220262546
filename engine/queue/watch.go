package queue

// Watch makes Ended report the end of a task: its completion, death or removal. Ended reports it
// once, even if Watch was called several times.
func (s *State) Watch(ref Ref) { s.watched[ref]++ }

// Unwatch undoes one Watch.
func (s *State) Unwatch(ref Ref) {
	if s.watched[ref]--; s.watched[ref] <= 0 {
		delete(s.watched, ref)
	}
}

// Ended is the end of a watched task.
type Ended struct {
	Ref      Ref
	How      End
	Attempts uint32 // used attempts of a dead task
}

// End is the kind of a task's end.
type End uint8

// The ends.
const (
	Completed End = iota + 1
	Died
	Removed // cancelled or purged
)

// Ended returns the watched tasks that ended since the last call.
func (s *State) Ended() []Ended {
	e := s.ended
	s.ended = nil
	return e
}

func (s *State) end(e Ended) {
	if len(s.watched) == 0 {
		return
	}
	if _, ok := s.watched[e.Ref]; ok {
		s.ended = append(s.ended, e)
	}
}

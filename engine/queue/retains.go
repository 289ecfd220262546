package queue

// KeepsResult reports whether completing a lease would store a result: the token is that of the task's lease, and results of
// the task are kept.
func (s *State) KeepsResult(ref Ref, token uint64) bool {
	_, leased := s.find(ref, token)
	return leased != nil && leased.Extras != nil && leased.Extras.RetentionMs > 0
}

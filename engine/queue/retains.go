package queue

// KeepsResult reports whether the completion of a lease would store a result: the token is the lease's, and the task has a result
// retention.
func (s *State) KeepsResult(ref Ref, token uint64) bool {
	_, leased := s.find(ref, token)
	return leased != nil && leased.Extras != nil && leased.Extras.RetentionMs > 0
}

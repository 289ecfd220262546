package queue

// Events counts what happened to the tasks of a queue since this node began to decide for the
// shard. The counters are not stored, because the record of a queue is written with each commit: a
// restart and a change of the leader set them to 0.
type Events struct {
	FailedAttempts uint64 // reported by workers
	ExpiredLeases  uint64
	Retries        uint64 // returns to the queue after a failed attempt or an expired lease
	Cancelled      uint64
	// Died is the number of tasks that died, by reason.
	Died [reasons]uint64
}

// Add adds the counters of other events.
func (e *Events) Add(other *Events) {
	e.FailedAttempts += other.FailedAttempts
	e.ExpiredLeases += other.ExpiredLeases
	e.Retries += other.Retries
	e.Cancelled += other.Cancelled
	for reason, n := range other.Died {
		e.Died[reason] += n
	}
}

// counting returns the queue's events, for an increment.
func (q *Queue) counting() *Events {
	if q.events == nil {
		q.events = new(Events)
	}
	return q.events
}

func (e *Events) attempt(o Outcome) {
	switch o {
	case Failed:
		e.FailedAttempts++
	case LeaseExpired:
		e.ExpiredLeases++
	}
}

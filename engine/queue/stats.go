package queue

// Stats are a queue's figures at one moment.
type Stats struct {
	Tenant    string
	Name      string
	Enqueued  uint64 // ever
	Completed uint64 // ever
	Ready     uint64
	Delayed   uint64
	Leased    uint64
	Dead      uint64
}

// Stats returns the figures of all queues, in no order. Of a queue's returned tasks those count as
// ready that are due and in a window; the rest count as delayed.
func (s *State) Stats(now int64) []Stats {
	out := make([]Stats, 0, len(s.queues))
	for _, q := range s.queues {
		c := q.record.Counts
		var due uint64
		for _, l := range q.lanes {
			if l == nil || l.nextDueMs() > now {
				continue
			}
			l.returned.Ascend(func(t returnedTask) bool {
				if t.dueAtMs > now {
					return false
				}
				due++
				return true
			})
		}
		out = append(out, Stats{
			Tenant: q.record.Tenant, Name: q.record.Name, Enqueued: c.Enqueued, Completed: c.Completed,
			Ready: c.Fresh + due, Delayed: c.Returned - due, Leased: c.Leased, Dead: c.Dead,
		})
	}
	return out
}

// Queue returns the queue with an id.
func (s *State) Queue(id uint32) (*Queue, bool) {
	q, ok := s.queues[id]
	return q, ok
}

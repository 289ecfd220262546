package schedule

// Backlog collects the due times of a schedule whose runs have not started yet.
type Backlog struct {
	AfterMs int64   // earlier due times, and this time itself, were collected before
	Times   []int64 // the retained due times, ascending
	Dropped uint64  // number of due times that were not retained; all of them are before Times
}

// Collect adds to a backlog the due times whose runs must have started by nowMs, and drops all but
// the last keep due times. It takes up to steps due times into account. If they are not all, it
// returns false, and the caller must call it again. name is the name of the recurring task.
func (s *Schedule) Collect(b *Backlog, name string, nowMs int64, keep, steps int) (all bool) {
	s.jump(b, nowMs, keep)
	for range steps {
		due := s.Next(b.AfterMs)
		if due > nowMs || s.StartMs(name, due) > nowMs {
			return true
		}
		b.AfterMs = due
		if b.Times = append(b.Times, due); len(b.Times) > keep {
			b.Times = b.Times[1:]
			b.Dropped++
		}
	}
	return false
}

// jump drops due times of an interval without looking at each of them. It leaves one more due time
// than keep, since the last one before nowMs may not have started because of its jitter.
func (s *Schedule) jump(b *Backlog, nowMs int64, keep int) {
	if s.everyMs == 0 {
		return
	}
	before := b.AfterMs / s.everyMs
	if n := nowMs/s.everyMs - before - int64(keep) - 1; n > 0 {
		b.AfterMs = (before + n) * s.everyMs
		b.Dropped += uint64(n) + uint64(len(b.Times))
		b.Times = nil
	}
}

package queue

import "math"

// Expired is a task whose time to live ended at AtMs.
type Expired struct {
	Stored
	AtMs  int64
	Found bool // whether the task is stored
}

func (r *retention) askExpired() {
	if r.ttlMs <= r.nowMs && r.watches.expiring == nil {
		r.refills = append(r.refills, Refill{Stream: StreamExpired, FromMs: r.nowMs, Limit: r.cfg.SweepMax, BytesMax: r.cfg.RefillBytesMax})
		r.ttlMs, r.watches.expiring = math.MaxInt64, map[Ref]bool{}
	}
}

// RefillExpired answers a Refill of StreamExpired. nextMs is the earliest end of a time to live
// among the entries that were not read, or math.MaxInt64 if all were read.
func (s *State) RefillExpired(_ Refill, tasks []Expired, nextMs int64) {
	s.worked += len(tasks)
	changed := s.expiring
	s.expiring = nil
	for i := range tasks {
		if changed[tasks[i].Ref] { // what was read may be outdated
			nextMs = min(nextMs, tasks[i].AtMs)
			continue
		}
		s.expireTask(&tasks[i])
	}
	// If further tasks have expired, the next Tick is due immediately and requests them. Other
	// commands are decided in between.
	s.ttlMs = min(s.ttlMs, nextMs)
}

// expireTask moves a task whose time to live has ended to the dead letters. If the task is leased,
// giveBack moves it when its lease ends without completion.
func (s *State) expireTask(e *Expired) {
	t := &e.Stored
	if e.Found {
		if p := s.part(t); p == partFresh || p == partReturned {
			ref := t.ref()
			s.withdraw(t)
			s.die(&ref, t.Progress.Token, TimeToLiveOver, lastAttempt{})
		}
	}
	s.journal.DropExpiry(t.Ref, e.AtMs)
}

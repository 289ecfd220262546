package load

import (
	"time"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// delaying says which tasks of a workload have a delay, so that a worker knows when each task that it claims was due.
type delaying struct {
	lot
	delay time.Duration
}

func newDelaying(w scenario.Workload) delaying {
	return delaying{newLot(w, lotDelay, w.Delay.Part), w.Delay.Time}
}

// of returns the delay of a task, 0 of most.
func (d *delaying) of(id ledger.Identity) time.Duration {
	if !d.draws(id, 0) {
		return 0
	}
	return d.delay
}

// delayed finds out whether a task that was claimed had a delay. If so, it checks that the task was due, and records how late it came first.
func (s *slot) delayed(c *claimed) {
	if c.delay = s.delaying.of(c.id); c.delay == 0 {
		return
	}
	intended, _ := placed(c.id.IntendedNS)
	late := c.at - intended - int64(c.delay)
	s.cfg.Ledger.ClaimedDelayed(c.id, c.delay, time.Duration(late))
	if c.attempt <= 1 && s.window.contains(c.at) {
		s.record.late.record(max(0, late), 1)
	}
}

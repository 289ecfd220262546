package load

import (
	"time"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// delaying decides which tasks of a workload have a delay. The decision depends only on the
// workload's seed and the task's identity, so a worker knows the ready time of each task that it
// claims.
type delaying struct {
	lot
	delay time.Duration
}

func newDelaying(w scenario.Workload) delaying {
	return delaying{newLot(w, lotDelay, w.Delay.Part), w.Delay.Time}
}

func (d *delaying) of(id ledger.Identity) time.Duration {
	if !d.draws(id, 0) {
		return 0
	}
	return d.delay
}

// delayed sets c.delay. For a delayed task it also checks that the delay had ended at the claim,
// and records how late the first claim was.
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

package load

import (
	"sync/atomic"

	"github.com/pronybench/prony/harness/scenario"
)

// volume ends the window after a number of tasks. It is safe for concurrent use.
type volume struct {
	ofEnqueues bool // if set, enqueues are counted; otherwise completions
	left       atomic.Int64
	end        func() // called once
}

// newVolume returns the volume of a load, or nil if the window ends only by time.
func newVolume(cfg Config, end func()) *volume {
	if cfg.Phases.Tasks == 0 {
		return nil
	}
	v := &volume{ofEnqueues: cfg.Workload.EnqueuesAlone(), end: end}
	v.left.Store(int64(cfg.Phases.Tasks))
	return v
}

func (v *volume) enqueued(n int) {
	if v != nil && v.ofEnqueues {
		v.done(n)
	}
}

func (v *volume) completed(n int) {
	if v != nil && !v.ofEnqueues {
		v.done(n)
	}
}

func (v *volume) done(n int) {
	if left := v.left.Add(-int64(n)); left <= 0 && left+int64(n) > 0 {
		v.end()
	}
}

func (p *problems) checkVolume(c *Config) {
	p.check(c.Phases.Tasks >= 0, "phases.tasks is %d; it must not be negative", c.Phases.Tasks)
	p.check(c.Phases.Tasks <= 0 || c.Workload.Arrivals.Kind == scenario.Closed, "phases.tasks is %d; workload.arrivals must then be %s, not %s",
		c.Phases.Tasks, scenario.Closed, c.Workload.Arrivals.Kind)
}

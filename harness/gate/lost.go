package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// causeShare is the smallest share of a detected loss that a reported cause explains.
const causeShare = 1.0 / 3

// loss is a change's loss in one primary, in microseconds per cycle.
type loss struct {
	of string // display name; "" if no loss was detected that a cause of this kind could explain
	us float64
}

// lost contains the detected losses. The zero value contains none.
type lost struct{ server, client, rate loss }

// lostOf returns the losses of CPU time and of the rate that a duet detected. cycleUs is the base's
// time per cycle. It excludes losses of latency, which is measured under open load, because
// profiles are taken under closed load.
func lostOf(c *result.Comparison, cycleUs float64) (l lost) {
	for _, m := range c.Metrics {
		if m.Outcome != result.Worsened || m.Loss == nil {
			continue
		}
		switch m.Metric {
		case result.ServerCPUUsPerCycle:
			l.server = loss{"server CPU time", m.Loss.Estimate * m.Base.Median}
		case result.ClientCPUUsPerCycle:
			l.client = loss{"client CPU time", m.Loss.Estimate * m.Base.Median}
		case result.CyclesPerS:
			l.rate = loss{"time per cycle", cycleUs * m.Loss.Estimate / (1 - min(m.Loss.Estimate, 0.99))}
		}
	}
	return l
}

func (l lost) called() (all []loss) {
	for _, of := range []loss{l.server, l.client, l.rate} {
		if of.of != "" {
			all = append(all, of)
		}
	}
	return all
}

// of returns the loss that a cause of a kind would explain. CPU time explains a loss of CPU time on
// the same side or, without such a loss, of the time per cycle. A wait in the servers explains a
// loss of the time per cycle or, without such a loss, of the servers' CPU time.
func (l lost) of(kind string, generator bool) loss {
	own, other := l.rate, l.server
	switch {
	case kind == causeCPU && generator:
		own, other = l.client, l.rate
	case kind == causeCPU:
		own, other = l.server, l.rate
	case generator:
		other = l.client
	}
	switch {
	case own.of != "":
		return own
	case other.of == "" && len(l.called()) > 0:
		return loss{us: -1}
	}
	return other
}

func (l loss) looked() bool { return l.us >= 0 }

// least returns the smallest increase, in microseconds per cycle, that is reported as a cause. It
// is a share of the loss, or of the base's time per cycle if no such loss was detected.
func (l loss) least(cycleUs float64) float64 {
	switch {
	case !l.looked():
		return maxUs
	case l.of == "":
		return causePartMin * cycleUs
	}
	return causeShare * l.us
}

// maxUs exceeds any cause.
const maxUs = 1e18

func (l loss) share(us float64) string {
	if l.of == "" {
		return ""
	}
	return fmt.Sprintf(": %s of the loss of %s", render.PercentTo(us/l.us, 0), l.of)
}

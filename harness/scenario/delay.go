package scenario

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Delay is the share of tasks that are enqueued with a delay. No worker receives such a task before
// the delay has passed. The zero value delays no task.
type Delay struct {
	Time time.Duration `json:"time"`
	Part float64       `json:"part"` // share of delayed tasks, above 0 and at most 1
}

// delayMax keeps the latency of a delayed task within the range of the histograms, even if a server
// ignores the delay.
const delayMax = 30 * time.Second

// IsZero reports whether no task has a delay. It implements the JSON option omitzero.
func (d Delay) IsZero() bool { return d == Delay{} }

// MarshalJSON writes the time as text.
func (d Delay) MarshalJSON() ([]byte, error) { return json.Marshal(d.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Delay) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, d.stored()) }

func (d *Delay) stored() any {
	type plain Delay
	return &struct {
		*plain
		Time *duration `json:"time"`
	}{(*plain)(d), (*duration)(&d.Time)}
}

// String writes the delay as a scenario does.
func (d Delay) String() string {
	return fmt.Sprintf("share(%q, %v)", hclfile.FormatDuration(d.Time), d.Part)
}

const delayExample = `share("1s", 0.1)`

var delayCalls = shareCalls("time", "a share of delayed tasks", delayExample, delayTime, func(d Delay, part float64) Delay { return Delay{d.Time, part} })

func delayTime(v cty.Value) (d Delay, err error) {
	if d.Time, err = readLength("time", v); err != nil {
		return d, err
	}
	if d.Time%time.Millisecond != 0 || d.Time > delayMax {
		return d, &hclfile.ValueError{
			Message: fmt.Sprintf("a delay of %s is not a whole number of milliseconds from 1ms to %s", hclfile.FormatDuration(d.Time), hclfile.FormatDuration(delayMax)),
			Remedy:  "the server takes milliseconds: write " + delayExample,
		}
	}
	return d, nil
}

// checkDelayed checks delay = share(time, part). A part of 0 means no delay, so that a sweep can
// include that case.
func checkDelayed(b *hclfile.Block, w *Workload) {
	if !w.Delay.IsZero() {
		refuseLife(b, "delay", w, "the delays of its tasks", "does not support delays", "to delay")
	}
}

func checkDelay(b *hclfile.Block, s *Scenario) {
	delays := func(w Workload) bool { return !w.Delay.IsZero() }
	if !Any(s.Workloads, delays) {
		return
	}
	refuse := refusing(b, "delay")
	refuse(s.Backlog != nil, "a backlog: its tasks would become due while it is filled", "remove one of the two")
	refuse(s.Soak != nil, "a soak: a restarted process does not know when the tasks of the previous one become due", "remove one of the two")
	refuse(s.Topology.Remote != nil, "servers on other hosts: tasks become due by their clocks", "remove delay, or use another topology: the harness does not compare clocks of two hosts")
	for _, w := range s.Workloads {
		if drain := s.Phases.Drain; delays(w) && drain > 0 && w.Delay.Time > drain/2 {
			b.Problem(fmt.Sprintf("the tasks of %s have a delay of %s, and the drain of %s must be at least twice as long", workloadPath+w.Name,
				hclfile.FormatDuration(w.Delay.Time), hclfile.FormatDuration(drain)), "shorten the delay, or raise phases.drain")
		}
	}
}

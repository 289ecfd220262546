package scenario

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Recurring describes the recurring tasks that exist while the workloads run. They have a separate
// tenant, whose tasks the harness claims and completes.
type Recurring struct {
	Tasks    int           `json:"tasks"`
	Interval time.Duration `json:"-"` // between two due times of a recurring task
}

// MarshalJSON writes the duration as text.
func (r Recurring) MarshalJSON() ([]byte, error) { return json.Marshal(r.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Recurring) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, r.stored()) }

func (r *Recurring) stored() any {
	type plain Recurring
	return &struct {
		*plain
		Interval *duration `json:"interval"`
	}{(*plain)(r), (*duration)(&r.Interval)}
}

const (
	recurringMax     = 10_000
	recurringPerSMax = 2_000 // far below the rate at which the harness completes tasks
)

var recurringTable = table[Recurring]{
	integer(func(r *Recurring) *int { return &r.Tasks }, hclfile.IntSpec{Min: 1, Max: recurringMax, Required: true}, attribute[Recurring]{
		name: "tasks", doc: "{}: the number of recurring tasks",
	}),
	durationAttr(func(r *Recurring) *time.Duration { return &r.Interval }, hclfile.DurationSpec{Min: time.Second, Max: time.Hour, Default: time.Second}, attribute[Recurring]{
		name: "interval", doc: "{}: the time between two due times of a recurring task. The due times are the multiples of the interval since 1970",
	}),
}

var recurringBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: recurringTable.names()},
	Example: `recurring { tasks = 100  interval = "1s" }`, Once: true,
}

// readRecurring reads recurring { tasks interval }, or returns nil without such a block.
func readRecurring(s *hclfile.Block, of *Scenario) *Recurring {
	blocks := s.Blocks("recurring", recurringBlock)
	if len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	r := &Recurring{}
	recurringTable.read(b, r)
	if perS := float64(r.Tasks) / r.Interval.Seconds(); r.Interval > 0 && perS > recurringPerSMax {
		b.AttrProblem("tasks", fmt.Sprintf("%d recurring tasks every %s are %.0f tasks a second; the most is %d", r.Tasks, hclfile.FormatDuration(r.Interval), perS, recurringPerSMax),
			"lower tasks, or raise interval")
	}
	if r.Interval > 0 && of.Phases.Window > 0 && of.Phases.Window < r.Interval {
		b.AttrProblem("interval", fmt.Sprintf("interval is %s, and the window of %s may end before the first due time", hclfile.FormatDuration(r.Interval), hclfile.FormatDuration(of.Phases.Window)),
			"shorten interval, or lengthen the window")
	}
	if kind := of.Topology.Kind; kind == Embedded || kind == NoTopology || kind == ByProgram || kind == Remote {
		b.Problem(fmt.Sprintf("recurring tasks need servers that Prony starts on this host; the topology is %q", kind), `write topology "single", "sharded" or "raft"`)
	}
	if of.Topology.Hosts != nil {
		b.Problem("recurring tasks cannot be combined with hosts for the nodes", "remove one of the two")
	}
	if len(of.Faults) > 0 {
		b.Problem("recurring tasks cannot be combined with faults: the session that claims their tasks would end", "remove one of the two")
	}
	return r
}

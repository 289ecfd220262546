package scenario

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Phases are the parts of a round, in order.
type Phases struct {
	Warmup time.Duration `json:"warmup"` // at least
	// WarmupMax is the longest warm-up. After Warmup, the warm-up continues until the rate is
	// steady or WarmupMax is reached. 0 means a fixed warm-up of length Warmup.
	WarmupMax time.Duration `json:"warmup_max"`
	Window    time.Duration `json:"window"` // at most, with Tasks
	// Tasks ends the window after this number of completed tasks, or of enqueued tasks if the
	// workload has no workers. 0 means that the window lasts for Window.
	Tasks int           `json:"tasks,omitzero"`
	Drain time.Duration `json:"drain"` // at most
}

// MarshalJSON writes durations as text.
func (p Phases) MarshalJSON() ([]byte, error) { return json.Marshal(p.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Phases) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, p.stored()) }

func (p *Phases) stored() any {
	type plain Phases
	return &struct {
		*plain
		Warmup    *duration `json:"warmup"`
		WarmupMax *duration `json:"warmup_max,omitzero"`
		Window    *duration `json:"window"`
		Drain     *duration `json:"drain"`
	}{(*plain)(p), (*duration)(&p.Warmup), (*duration)(&p.WarmupMax), (*duration)(&p.Window), (*duration)(&p.Drain)}
}

var phasesTable = table[Phases]{
	durationAttr(func(p *Phases) *time.Duration { return &p.Warmup }, hclfile.DurationSpec{Max: time.Hour, Default: time.Second}, attribute[Phases]{
		name: "warmup", label: "warm-up", value: func(p *Phases) string { return p.Warmup.String() },
		doc: "{}; not measured. At durability `sync` a Prony server is slower until its log files reach their full size and are overwritten: use eight seconds there, as [knobs/shared/sync-phases.hcl](knobs/shared/sync-phases.hcl) does",
	}),
	durationAttr(func(p *Phases) *time.Duration { return &p.WarmupMax }, hclfile.DurationSpec{Max: time.Hour}, attribute[Phases]{
		name: "warmup_max", shownDefault: "none: the warm-up takes `warmup`",
		doc: "{}: after `warmup`, the warm-up continues until the rate has no trend in its last part, for at most this long. Only for loads whose arrivals are `closed()` or `none()`, and without faults",
	}),
	durationAttr(func(p *Phases) *time.Duration { return &p.Window }, hclfile.DurationSpec{Min: 100 * time.Millisecond, Max: 24 * time.Hour, Required: true}, attribute[Phases]{
		name: "window", label: "window", value: func(p *Phases) string { return p.Window.String() },
		doc: "{}; the measured part, or its maximum if there is `tasks`",
	}),
	integer(func(p *Phases) *int { return &p.Tasks }, hclfile.IntSpec{Min: 1, Max: backlogMax}, attribute[Phases]{
		name: "tasks", label: "window, tasks", shownDefault: "none: the window takes `window`",
		doc: "{}: the window ends when this number of tasks was completed in it, or enqueued with `workers = 0`. Only with a single workload, which is `closed()`, and without `fault`, `soak`, `series` and k6",
	}),
	durationAttr(func(p *Phases) *time.Duration { return &p.Drain }, hclfile.DurationSpec{Min: time.Second, Max: time.Hour, Default: 30 * time.Second}, attribute[Phases]{
		name: "drain", label: "drain, at most", value: func(p *Phases) string { return p.Drain.String() },
		doc: "{}: the maximum time to complete the remaining tasks. The drain ends as soon as none remain. If workers still complete tasks when the time is up, and the servers' account shows that they hold the rest, the round is `invalid`; if tasks are missing from that account, they are lost, and the round is `incorrect`",
	}),
}

// Rows returns the rows of pages.
func (p *Phases) Rows() []Row { return phasesTable.rows(p, "phases.") }

var phasesBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: phasesTable.names()},
	Example: `phases { window = "10s" }`, Required: true, Once: true,
}

func readPhases(s *hclfile.Block) Phases {
	blocks := s.Blocks("phases", phasesBlock)
	if len(blocks) == 0 {
		return Phases{}
	}
	b := blocks[0]
	var p Phases
	phasesTable.read(b, &p)
	if b.Has("warmup_max") && p.WarmupMax < p.Warmup {
		b.AttrProblem("warmup_max", fmt.Sprintf("warmup_max is %q, which is less than the warm-up of %s",
			hclfile.FormatDuration(p.WarmupMax), hclfile.FormatDuration(p.Warmup)), "it is the longest warm-up, for a rate that is not steady earlier")
	}
	return p
}

// LongestWarmup returns the longest possible warm-up.
func (p Phases) LongestWarmup() time.Duration { return max(p.Warmup, p.WarmupMax) }

// checkWarmup refuses phases.warmup_max for open loads, whose times are fixed, and with faults.
func checkWarmup(b *hclfile.Block, s *Scenario) {
	if s.Phases.WarmupMax == 0 {
		return
	}
	remedy := "remove phases.warmup_max; the warm-up then takes phases.warmup"
	if len(s.Faults) > 0 {
		b.Problem("a warm-up that continues until the rate is steady cannot be combined with faults", remedy)
		return
	}
	for _, w := range s.Workloads {
		if w.Arrivals.Timed() {
			b.Problem(fmt.Sprintf("workload %q has an open load, which the warm-up cannot delay until the rate is steady", w.Name), remedy)
			return
		}
	}
}

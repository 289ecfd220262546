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

var phasesBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: []string{"warmup", "warmup_max", "window", "tasks", "drain"}},
	Example: `phases { window = "10s" }`, Required: true, Once: true,
}

func readPhases(s *hclfile.Block) Phases {
	blocks := s.Blocks("phases", phasesBlock)
	if len(blocks) == 0 {
		return Phases{}
	}
	b := blocks[0]
	p := Phases{
		Warmup:    b.Duration("warmup", hclfile.DurationSpec{Max: time.Hour, Default: time.Second}),
		WarmupMax: b.Duration("warmup_max", hclfile.DurationSpec{Max: time.Hour}),
		Window: b.Duration("window", hclfile.DurationSpec{
			Min: 100 * time.Millisecond, Max: 24 * time.Hour, Required: true,
		}),
		Tasks: b.Int("tasks", hclfile.IntSpec{Min: 1, Max: backlogMax}),
		Drain: b.Duration("drain", hclfile.DurationSpec{
			Min: time.Second, Max: time.Hour, Default: 30 * time.Second,
		}),
	}
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

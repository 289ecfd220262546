package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Backlog is what a round does after its window: tasks are enqueued without workers, the server is
// started again, and the backlog is drained. With a workload that claims alone, the tasks are
// enqueued before the warm-up and the workers claim them in the window: Restart is "none" then, and
// Reference and Drain are 0.
type Backlog struct {
	Tasks int `json:"tasks"`
	// Reference is the number of tasks of a small backlog, which is filled and drained first to
	// compare the large one with. With 0 no small backlog is drained.
	Reference int    `json:"reference,omitzero"`
	Restart   string `json:"restart"` // "none", "term" or "kill": how the server is ended before it drains
	// ColdCache says that the kernel forgets what it caches of the servers' files before they start
	// again.
	ColdCache bool          `json:"cold_cache,omitempty"`
	Fill      time.Duration `json:"fill"`  // at most
	Drain     time.Duration `json:"drain"` // at most
}

// MarshalJSON writes durations as text.
func (b Backlog) MarshalJSON() ([]byte, error) { return json.Marshal(b.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Backlog) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, b.stored()) }

func (b *Backlog) stored() any {
	type plain Backlog
	return &struct {
		*plain
		Fill  *duration `json:"fill"`
		Drain *duration `json:"drain"`
	}{(*plain)(b), (*duration)(&b.Fill), (*duration)(&b.Drain)}
}

var backlogBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: []string{"tasks", "reference", "restart", "cold_cache", "fill", "drain"}},
	Example: `backlog { tasks = 1000000 }`, Once: true,
}

// backlogMax is far above what fits a disk of today with payloads of the smallest size.
const backlogMax = 1_000_000_000

// readBacklog reads backlog { tasks reference restart cold_cache fill drain }, or returns nil
// without such a block.
func readBacklog(s *hclfile.Block, workloads []Workload) *Backlog {
	blocks := s.Blocks("backlog", backlogBlock)
	if len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	limit := hclfile.DurationSpec{Min: time.Second, Max: 24 * time.Hour, Default: 10 * time.Minute}
	l := &Backlog{
		Tasks:     b.Int("tasks", hclfile.IntSpec{Min: 1, Max: backlogMax, Required: true}),
		Reference: b.Int("reference", hclfile.IntSpec{Min: 1, Max: backlogMax}),
		Restart:   b.Choice("restart", hclfile.ChoiceSpec{OneOf: []string{"none", "term", "kill"}}),
		ColdCache: b.Bool("cold_cache"),
		Fill:      b.Duration("fill", limit),
		Drain:     b.Duration("drain", limit),
	}
	wrong := l.Restart == "" && b.Has("restart") // which is said already
	l.Restart = cmp.Or(l.Restart, "none")
	if l.ColdCache && l.Restart == "none" && !wrong && !Any(workloads, Workload.ClaimsAlone) {
		b.AttrProblem("cold_cache", "cold_cache has no meaning with restart = \"none\": the server has its files open and its own caches",
			"write restart = \"kill\" or \"term\", or remove cold_cache")
	}
	if Any(workloads, Workload.ClaimsAlone) {
		for _, attribute := range []string{"reference", "restart", "cold_cache", "drain"} {
			if b.Has(attribute) {
				b.AttrProblem(attribute, "with producers = 0 the backlog is filled before the warm-up and claimed in the window, and "+attribute+" has no meaning",
					"remove it; phases.drain bounds the time that the workers take for the tasks that are left")
			}
		}
		l.Reference, l.Restart, l.ColdCache, l.Drain = 0, "none", false, 0
	}
	if l.Tasks > 0 && l.Reference >= l.Tasks {
		b.AttrProblem("reference", fmt.Sprintf("reference is %d; it must be below the %d tasks of the backlog", l.Reference, l.Tasks),
			"it is the small backlog that the large one is compared with")
	}
	if len(workloads) > 1 {
		b.Problem("a backlog is of one workload; the scenario has several", "keep one workload, or remove the backlog")
	}
	if Any(workloads, func(w Workload) bool { return w.Arrivals.Kind == None }) {
		b.Problem("a backlog needs producers that fill it and workers that drain it; the workload has arrivals = none()",
			"remove the backlog, or write arrivals = closed()")
	}
	return l
}

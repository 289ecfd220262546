package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Backlog is a phase of a round after its window: producers enqueue tasks without workers, the
// server is restarted, and workers drain the backlog. If the workload has only workers, the tasks
// are instead enqueued before the warm-up and the workers claim them in the window. Restart is then
// "none", and Reference and Drain are 0.
type Backlog struct {
	Tasks int `json:"tasks"`
	// Reference is the number of tasks of a small backlog that is filled and drained first, for
	// comparison with the large one. 0 means no small backlog.
	Reference int `json:"reference,omitzero"`
	// Restart is the way in which the server ends before the drain: "none", "term" or "kill".
	Restart string `json:"restart"`
	// ColdCache drops the servers' files from the kernel's page cache before the servers start
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

// backlogTime bounds the filling and the draining of a backlog.
var backlogTime = hclfile.DurationSpec{Min: time.Second, Max: 24 * time.Hour, Default: 10 * time.Minute}

var backlogTable = table[Backlog]{
	integer(func(b *Backlog) *int { return &b.Tasks }, hclfile.IntSpec{Min: 1, Max: backlogMax, Required: true}, attribute[Backlog]{
		name: "tasks", doc: "{}", label: "backlog, tasks", value: func(b *Backlog) string { return strconv.Itoa(b.Tasks) },
	}),
	integer(func(b *Backlog) *int { return &b.Reference }, hclfile.IntSpec{Min: 1, Max: backlogMax}, attribute[Backlog]{
		name: "reference", shownDefault: "none", doc: "fewer than `tasks`: a small backlog, which is filled and drained first, for comparison",
	}),
	choice(func(b *Backlog) *string { return &b.Restart }, hclfile.ChoiceSpec{OneOf: []string{"none", "term", "kill"}}, attribute[Backlog]{
		name: "restart", shownDefault: "`\"none\"`", label: "backlog, restart before the drain",
		doc: "how the server is stopped before the drain: `\"none\"`, `\"term\"` (SIGTERM) or `\"kill\"` (SIGKILL)",
	}),
	boolean(func(b *Backlog) *bool { return &b.ColdCache }, attribute[Backlog]{
		name: "cold_cache", label: "backlog, page cache at the restart", value: func(b *Backlog) string { return unless(!b.ColdCache, "cold") },
		doc: "{}: before the server starts again, its files are written to the disk and evicted from the page cache, so that the server reads them from the disk. The page shows how much stayed in the page cache; above 1 % the round is invalid. It needs a `restart`, and Linux 6.5",
	}),
	durationAttr(func(b *Backlog) *time.Duration { return &b.Fill }, backlogTime, attribute[Backlog]{name: "fill", doc: "{}: the maximum time to enqueue the tasks"}),
	durationAttr(func(b *Backlog) *time.Duration { return &b.Drain }, backlogTime, attribute[Backlog]{name: "drain", doc: "{}: the maximum time to complete them"}),
}

// Rows returns the rows of pages. claimed is true if the workers of the window claim the backlog
// and the server does not restart.
func (b *Backlog) Rows(claimed bool) []Row {
	rows := backlogTable.rows(b, "backlog.")
	if claimed {
		return rows[:1]
	}
	return rows
}

var backlogBlock = hclfile.Inner{
	Names:   hclfile.Names{Attributes: backlogTable.names()},
	Example: `backlog { tasks = 1000000 }`, Once: true,
}

// backlogMax is far more than a current disk can hold, even with the smallest payloads.
const backlogMax = 1_000_000_000

func readBacklog(s *hclfile.Block, workloads []Workload) *Backlog {
	blocks := s.Blocks("backlog", backlogBlock)
	if len(blocks) == 0 {
		return nil
	}
	b := blocks[0]
	l := &Backlog{}
	backlogTable.read(b, l)
	wrong := l.Restart == "" && b.Has("restart") // already reported
	l.Restart = cmp.Or(l.Restart, "none")
	if l.ColdCache && l.Restart == "none" && !wrong && !Any(workloads, Workload.ClaimsAlone) {
		b.AttrProblem("cold_cache", "cold_cache is not valid with restart = \"none\": the server has its files open and its own caches",
			"write restart = \"kill\" or \"term\", or remove cold_cache")
	}
	if Any(workloads, Workload.ClaimsAlone) {
		for _, attribute := range []string{"reference", "restart", "cold_cache", "drain"} {
			if b.Has(attribute) {
				b.AttrProblem(attribute, "with producers = 0 the backlog is filled before the warm-up and claimed in the window, so "+attribute+" is not valid",
					"remove it; phases.drain bounds the time in which the workers complete the remaining tasks")
			}
		}
		l.Reference, l.Restart, l.ColdCache, l.Drain = 0, "none", false, 0
	}
	if l.Tasks > 0 && l.Reference >= l.Tasks {
		b.AttrProblem("reference", fmt.Sprintf("reference is %d; it must be below the %d tasks of the backlog", l.Reference, l.Tasks),
			"it is the small backlog that the large one is compared with")
	}
	if len(workloads) > 1 {
		b.Problem("a backlog needs a scenario with a single workload; this one has several", "keep one workload, or remove the backlog")
	}
	if Any(workloads, func(w Workload) bool { return w.Arrivals.Kind == None }) {
		b.Problem("a backlog needs producers that fill it and workers that drain it; the workload has arrivals = none()",
			"remove the backlog, or write arrivals = closed()")
	}
	return l
}

package scenario

import (
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Results is the share of tasks that workers complete with a result. The zero value has no results.
type Results struct {
	Size int     `json:"size"` // in bytes
	Part float64 `json:"part"` // share of tasks with a result, above 0 and at most 1
}

// ResultRetention is the time for which the server must store a result, which is far longer than
// the time until the harness reads it back.
const ResultRetention = 10 * time.Minute

// resultBytesMax is the largest result that a server accepts by default.
const resultBytesMax = 256 << 10

// IsZero reports whether no task has a result. It implements the JSON option omitzero.
func (r Results) IsZero() bool { return r == Results{} }

// String formats the results in the syntax of scenarios.
func (r Results) String() string { return fmt.Sprintf("share(%d, %v)", r.Size, r.Part) }

const resultExample = `share("1KiB", 0.1)`

var resultCalls = shareCalls("size", "a share of results", resultExample, resultSize, func(r Results, part float64) Results { return Results{r.Size, part} })

func resultSize(v cty.Value) (r Results, err error) {
	r.Size, err = sizeWithin(v, "result", resultBytesMax, "256KiB")
	return r, err
}

// checkResults checks result = share(size, part). A part of 0 means no result, so that a sweep can
// include that case.
func checkResults(b *hclfile.Block, w *Workload) {
	switch {
	case w.Result.IsZero():
	case refuseLife(b, "result", w, "the results of its tasks", "does not support results", "that could have a result"):
	case w.Workers == 0:
		b.AttrProblem("result", "with workers = 0 no task is completed with a result", "remove it, or raise workers")
	case w.Combined:
		b.AttrProblem("result", "result cannot be combined with combined: completions with results are separate calls", "remove one of the two")
	}
}

func checkResult(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, func(w Workload) bool { return !w.Result.IsZero() }) {
		return
	}
	refuse := refusing(b, "result")
	refuse(s.Soak != nil, "a soak: its account of tasks does not record results across a restart", "remove one of the two")
	refuse(s.Topology.Attached(), "servers that Prony does not start: results would stay on them", "remove result, or start the nodes by SSH")
}

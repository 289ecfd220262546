package scenario

import (
	"fmt"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Results says which tasks are completed with a result. The zero value has no results.
type Results struct {
	Size int     `json:"size"` // in bytes
	Part float64 `json:"part"` // of the tasks, above 0 and at most 1; the others have no result
}

// ResultRetention is for how long the server is asked to keep a result: far longer than until it is
// read back.
const ResultRetention = 10 * time.Minute

// resultBytesMax is the largest result that a server takes unless its settings say otherwise.
const resultBytesMax = 256 << 10

// IsZero reports whether no task has a result, which JSON leaves out.
func (r Results) IsZero() bool { return r == Results{} }

// String writes the results as a scenario does.
func (r Results) String() string { return fmt.Sprintf("share(%d, %v)", r.Size, r.Part) }

const resultExample = `share("1KiB", 0.1)`

var resultCalls = shareCalls("size", "a share of results", resultExample, resultSize, func(r Results, part float64) Results { return Results{r.Size, part} })

// resultSize reads the size of a result.
func resultSize(v cty.Value) (r Results, err error) {
	r.Size, err = sizeWithin(v, "result", resultBytesMax, "256KiB")
	return r, err
}

// readResult reads result = share(size, part). A part of 0 is no result, which a sweep may have.
func readResult(b *hclfile.Block, w *Workload) {
	v, ok := b.Call("result", resultCalls, resultExample)
	if !ok {
		return
	}
	w.Result = *v.EncapsulatedValue().(*Results)
	if w.Result.IsZero() {
		return
	}
	switch {
	case refuseLife(b, "result", w, "results its tasks have", "keeps no results", "that could have a result"):
	case w.Workers == 0:
		b.AttrProblem("result", "with workers = 0 no task is completed with a result", "remove it, or raise workers")
	case w.Combined:
		b.AttrProblem("result", "result and combined can't be had together: completions with results are calls of their own", "remove one of the two")
	}
}

// checkResult says what of a scenario can't be had together with results.
func checkResult(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, func(w Workload) bool { return !w.Result.IsZero() }) {
		return
	}
	refuse := refusing(b, "result")
	refuse(s.Soak != nil, "a soak, whose account of tasks goes on without the results after a restart,", "remove one of the two")
	refuse(s.Topology.Attached(), "servers that go on running, on which results would be left,", "remove result, or start the nodes by SSH")
}

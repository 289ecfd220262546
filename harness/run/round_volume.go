package run

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

func (m *measured) judgeVolume(p scenario.Phases) {
	// One of the two is 0: a workload that only enqueues has no cycles, and other workloads do not
	// count enqueues.
	if done := m.round.Cycles + m.round.Enqueues; done < uint64(p.Tasks) {
		m.fault(result.Invalid, fmt.Sprintf("%s of %s tasks were done in the window of %s: raise phases.window, or lower phases.tasks",
			render.Count(done), render.Count(p.Tasks), hclfile.FormatDuration(p.Window)))
	}
}

package run

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// prefill enqueues the backlog of a workload that only claims. It is called before the warm-up. It
// does nothing for other workloads.
func (r *runner) prefill(ctx context.Context, loads *loads) error {
	if !loads.workloads[0].ClaimsAlone() {
		return nil
	}
	_, err := stage(ctx, loads, func(cfgs []load.Config) (*load.Filled, error) {
		return load.Fill(ctx, cfgs[0], uint64(r.scenario.Backlog.Tasks), r.scenario.Backlog.Fill)
	})
	return err
}

// judgeRole checks a workload that only claims or only enqueues. The round is invalid if the
// workers completed the whole backlog before the end of the window, or if the producers reached the
// in-flight limit. The rate would then cover a shorter time.
func (m *measured) judgeRole(o *outcomes) {
	w, outstanding := o.workloads[0], o.all[0].Outstanding
	switch {
	case w.ClaimsAlone() && outstanding == 0:
		m.fault(result.Invalid, "the workers completed the whole backlog before the window's end: raise backlog.tasks, or shorten the window")
	case w.EnqueuesAlone() && outstanding+uint64(w.EnqueueBatch()) > uint64(w.InFlight):
		m.fault(result.Invalid, fmt.Sprintf("the producers reached in_flight, %s tasks, before the window's end, and then waited: raise in_flight, or shorten the window",
			render.Count(w.InFlight)))
	}
}

func (m *measured) judgeVolume(p scenario.Phases) {
	// One of the two is 0: a workload that only enqueues has no cycles, and other workloads do not
	// count enqueues.
	if done := m.round.Cycles + m.round.Enqueues; done < uint64(p.Tasks) {
		m.fault(result.Invalid, fmt.Sprintf("%s of %s tasks were done in the window of %s: raise phases.window, or lower phases.tasks",
			render.Count(done), render.Count(p.Tasks), hclfile.FormatDuration(p.Window)))
	}
}

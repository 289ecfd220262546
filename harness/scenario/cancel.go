package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// CancelsTasks reports whether workers cancel a share of the tasks that they hold.
func (w Workload) CancelsTasks() bool { return w.Cancel > 0 }

func checkCancelled(b *hclfile.Block, w *Workload) {
	switch {
	case !w.CancelsTasks():
	case w.Cancel == 1:
		b.AttrProblem("cancel", "cancel is 1, so no task would ever be completed", "it is a share from 0 to below 1: write cancel = 0.1")
	case refuseLife(b, "cancel", w, "the tasks to cancel", "can't cancel tasks", "to cancel"):
	case w.Driver != "" && w.Driver != "stream":
		b.AttrProblem("cancel", fmt.Sprintf("the driver %q gets no notice of a cancellation", w.Driver), `remove it, or write driver = "stream"`)
	case w.Workers == 0:
		b.AttrProblem("cancel", "with workers = 0 no task is leased", "remove it, or raise workers")
	case w.RepeatsKeys():
		b.AttrProblem("cancel", "cancel cannot be combined with key: cancelling a task frees its key", "remove one of the two")
	case w.ReadsTasks():
		b.AttrProblem("cancel", "cancel cannot be combined with reads: a read of a cancelled task has no known answer", "remove one of the two")
	}
}

func checkCancel(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, Workload.CancelsTasks) {
		return
	}
	refuse := refusing(b, "cancel")
	refuse(len(s.Faults) > 0, "faults: the server gives no notice of a cancellation to a session that has ended", "remove one of the two")
	refuse(s.Soak != nil, "a soak: its account of tasks does not record cancellations across a restart", "remove one of the two")
	refuse(s.Topology.Remote != nil, "servers on other hosts: their admin listeners may be out of reach", "remove cancel, or use another topology")
}

package scenario

import (
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ExtendsLeases reports whether workers extend a share of their leases.
func (w Workload) ExtendsLeases() bool { return w.Extend > 0 }

// readExtend reads the share of leases that workers extend once before they settle the task.
func readExtend(b *hclfile.Block, w *Workload) {
	share, ok := shareAttribute(b, "extend", "the leases are extended")
	if !ok || share == 0 {
		return
	}
	switch {
	case refuseLife(b, "extend", w, "leases it extends", "has no leases", "whose lease could be extended"):
	case w.Workers == 0:
		b.AttrProblem("extend", "with workers = 0 no task is leased", "remove it, or raise workers")
	}
	w.Extend = share
}

// checkExtend says what of a scenario can't be had together with leases that are extended.
func checkExtend(b *hclfile.Block, s *Scenario) {
	refusing(b, "extend")(s.Soak != nil && Any(s.Workloads, Workload.ExtendsLeases),
		"a soak, whose account of tasks goes on without the extensions after a restart,", "remove one of the two")
}

package scenario

import (
	"fmt"

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
	case w.Driver == DriverK6:
		b.AttrProblem("extend", `a script of the driver "k6" decides itself which leases it extends`, driversOfLives)
	case w.Driver == DriverNull:
		b.AttrProblem("extend", fmt.Sprintf("the driver %q has no leases", w.Driver), driversOfLives)
	case w.Arrivals.Kind == None:
		b.AttrProblem("extend", "with arrivals = none() there is no task whose lease could be extended", "remove it")
	case w.Workers == 0:
		b.AttrProblem("extend", "with workers = 0 nobody leases the tasks", "remove it, or raise workers")
	}
	w.Extend = share
}

// checkExtend says what of a scenario can't be had together with leases that are extended.
func checkExtend(b *hclfile.Block, s *Scenario) {
	refusing(b, "extend")(s.Soak != nil && Any(s.Workloads, Workload.ExtendsLeases),
		"a soak, whose account of tasks goes on without the extensions after a restart,", "remove one of the two")
}

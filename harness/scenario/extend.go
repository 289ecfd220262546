package scenario

import (
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ExtendsLeases reports whether workers extend a share of their leases.
func (w Workload) ExtendsLeases() bool { return w.Extend > 0 }

func checkExtended(b *hclfile.Block, w *Workload) {
	switch {
	case !w.ExtendsLeases():
	case refuseLife(b, "extend", w, "the leases to extend", "has no leases", "whose lease could be extended"):
	case w.Workers == 0:
		b.AttrProblem("extend", "with workers = 0 no task is leased", "remove it, or raise workers")
	}
}

func checkExtend(b *hclfile.Block, s *Scenario) {
	refusing(b, "extend")(s.Soak != nil && Any(s.Workloads, Workload.ExtendsLeases),
		"a soak: its account of tasks does not record extensions across a restart", "remove one of the two")
}

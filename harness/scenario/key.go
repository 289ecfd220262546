package scenario

import (
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// RepeatsKeys reports whether producers enqueue a share of the tasks twice with the same
// idempotency key.
func (w Workload) RepeatsKeys() bool { return w.Key > 0 }

func checkRepeated(b *hclfile.Block, w *Workload) {
	switch {
	case !w.RepeatsKeys():
	case refuseLife(b, "key", w, "the keys of its tasks", "does not support keys", "to give a key"):
	case w.Producers == 0:
		b.AttrProblem("key", "with producers = 0 no task is enqueued in the window", "remove it, or raise producers")
	case w.Idempotent:
		b.AttrProblem("key", "key cannot be combined with idempotent, which gives each task a unique key", "remove one of the two")
	}
}

func checkKey(b *hclfile.Block, s *Scenario) {
	refusing(b, "key")(s.Soak != nil && Any(s.Workloads, Workload.RepeatsKeys),
		"a soak: its account of tasks does not record keys across a restart", "remove one of the two")
}

package scenario

import (
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// RepeatsKeys reports whether producers enqueue a share of the tasks a second time under the same
// idempotency key.
func (w Workload) RepeatsKeys() bool { return w.Key > 0 }

// readKey reads the share of the tasks that have an idempotency key and are enqueued again under
// it.
func readKey(b *hclfile.Block, w *Workload) {
	share, ok := shareAttribute(b, "key", "the tasks are enqueued again under their key")
	if !ok || share == 0 {
		return
	}
	switch {
	case refuseLife(b, "key", w, "keys its tasks have", "knows no keys", "to give a key"):
	case w.Producers == 0:
		b.AttrProblem("key", "with producers = 0 no task is enqueued in the window", "remove it, or raise producers")
	case w.Idempotent:
		b.AttrProblem("key", "key and idempotent can't be had together: with idempotent the client gives each task a key of its own", "remove one of the two")
	}
	w.Key = share
}

// checkKey says what of a scenario can't be had together with keys that are repeated.
func checkKey(b *hclfile.Block, s *Scenario) {
	refusing(b, "key")(s.Soak != nil && Any(s.Workloads, Workload.RepeatsKeys),
		"a soak, whose account of tasks goes on without the keys after a restart,", "remove one of the two")
}

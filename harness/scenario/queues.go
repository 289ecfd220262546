package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// queuesMax is how many queues a tenant has at most.
const queuesMax = 10_000

// QueuesOfTenant is how many queues each tenant has.
func (w Workload) QueuesOfTenant() int {
	if w.QueuePerWorker {
		return max(1, w.Workers/max(1, w.Tenants))
	}
	return w.Queues
}

// readQueuePerWorker reads whether each worker slot has a queue of its own. The slots of a tenant
// then have as many sessions.
func readQueuePerWorker(b *hclfile.Block, w *Workload) {
	if w.QueuePerWorker = b.Bool("queue_per_worker"); !w.QueuePerWorker {
		return
	}
	switch {
	case w.Driver == DriverK6:
		b.AttrProblem("queue_per_worker", `the driver "k6" knows no queue_per_worker: the script says which queues its workers claim from`, "remove it")
	case b.Has("queues"):
		b.AttrProblem("queues", "queues has no meaning with queue_per_worker = true: there are as many as worker slots", "remove one of the two")
	case w.Workers == 0:
		b.AttrProblem("queue_per_worker", "queue_per_worker is true, and there are no workers", "remove it, or raise workers")
	case w.Tenants > 0 && w.Workers%w.Tenants != 0:
		b.AttrProblem("workers", fmt.Sprintf("with queue_per_worker = true, %d worker slots are not the same number for each of %d tenants", w.Workers, w.Tenants),
			fmt.Sprintf("write workers = %d", (w.Workers/w.Tenants+1)*w.Tenants))
	case w.QueuesOfTenant() > queuesMax:
		b.AttrProblem("workers", fmt.Sprintf("with queue_per_worker = true, each tenant has %d queues; there may be %d", w.QueuesOfTenant(), queuesMax), "lower workers, or raise tenants")
	}
}

package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const queuesMax = 10_000

// QueuesOfTenant returns the number of queues of each tenant.
func (w Workload) QueuesOfTenant() int {
	if w.QueuePerWorker {
		return max(1, w.Workers/max(1, w.Tenants))
	}
	return w.Queues
}

func checkQueuePerWorker(b *hclfile.Block, w *Workload) {
	switch {
	case !w.QueuePerWorker:
	case w.Driver == DriverK6:
		b.AttrProblem("queue_per_worker", `the driver "k6" does not support queue_per_worker: the script chooses the queues that its workers claim from`, "remove it")
	case b.Has("queues"):
		b.AttrProblem("queues", "queues is not valid with queue_per_worker = true: there is one queue for each worker slot", "remove one of the two")
	case w.Workers == 0:
		b.AttrProblem("queue_per_worker", "queue_per_worker is true, and there are no workers", "remove it, or raise workers")
	case w.Tenants > 0 && w.Workers%w.Tenants != 0:
		b.AttrProblem("workers", fmt.Sprintf("with queue_per_worker = true, the %d worker slots must be a multiple of the %d tenants", w.Workers, w.Tenants),
			fmt.Sprintf("write workers = %d", (w.Workers/w.Tenants+1)*w.Tenants))
	case w.QueuesOfTenant() > queuesMax:
		b.AttrProblem("workers", fmt.Sprintf("with queue_per_worker = true, each tenant has %d queues; the maximum is %d", w.QueuesOfTenant(), queuesMax), "lower workers, or raise tenants")
	}
}

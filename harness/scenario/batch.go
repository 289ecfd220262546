package scenario

import (
	"cmp"
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const batchMax = 1000

// EnqueueBatch returns the number of tasks in an enqueue call of a producer.
func (w Workload) EnqueueBatch() int { return cmp.Or(w.ProducerBatch, w.Batch) }

// ClaimBatch returns the largest number of tasks that a worker claims or completes in one call.
func (w Workload) ClaimBatch() int { return cmp.Or(w.WorkerBatch, w.Batch) }

func checkBatches(b *hclfile.Block, w *Workload) {
	for _, attribute := range []string{"producer_batch", "worker_batch"} {
		if w.Driver == DriverK6 && b.Has(attribute) {
			b.AttrProblem(attribute, fmt.Sprintf(`the driver "k6" uses one batch for both sides and does not support %s`, attribute), "remove it; batch applies to both sides")
		}
	}
}

func checkCallBytes(b *hclfile.Block, w *Workload) {
	check := func(attribute string, batch int) {
		if batch*(w.Payload.Max+taskNameBytesMax) > callBytesMax {
			b.AttrProblem(attribute, fmt.Sprintf("%d tasks of up to %d bytes, and their queues' names, exceed the %d bytes of one call",
				batch, w.Payload.Max, callBytesMax), "lower "+attribute+" or payload")
		}
	}
	if w.ProducerBatch == 0 || w.WorkerBatch == 0 {
		check("batch", w.Batch)
	}
	check("producer_batch", w.ProducerBatch)
	check("worker_batch", w.WorkerBatch)
}

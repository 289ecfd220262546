package scenario

import (
	"cmp"
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// batchMax is how many tasks a call has at most.
const batchMax = 1000

// EnqueueBatch is how many tasks a producer enqueues in a call.
func (w Workload) EnqueueBatch() int { return cmp.Or(w.ProducerBatch, w.Batch) }

// ClaimBatch is how many tasks a worker claims at most and completes in a call.
func (w Workload) ClaimBatch() int { return cmp.Or(w.WorkerBatch, w.Batch) }

// readBatches reads the batch of each side where it differs from that of both.
func readBatches(b *hclfile.Block, w *Workload) {
	limit := hclfile.IntSpec{Min: 1, Max: batchMax}
	w.ProducerBatch, w.WorkerBatch = b.Int("producer_batch", limit), b.Int("worker_batch", limit)
	for _, attribute := range []string{"producer_batch", "worker_batch"} {
		if w.Driver == DriverK6 && b.Has(attribute) {
			b.AttrProblem(attribute, fmt.Sprintf(`the driver "k6" knows one batch for both sides, and no %s`, attribute), "remove it; batch is that of both")
		}
	}
}

// checkCallBytes makes sure that a call of either side carries its tasks.
func checkCallBytes(b *hclfile.Block, w Workload) {
	check := func(attribute string, batch int) {
		if batch*(w.Payload.Max+taskNameBytesMax) > callBytesMax {
			b.AttrProblem(attribute, fmt.Sprintf("%d tasks of up to %d bytes, and their queues' names, are more than the %d bytes that one call carries",
				batch, w.Payload.Max, callBytesMax), "lower "+attribute+" or payload")
		}
	}
	if w.ProducerBatch == 0 || w.WorkerBatch == 0 {
		check("batch", w.Batch)
	}
	check("producer_batch", w.ProducerBatch)
	check("worker_batch", w.WorkerBatch)
}

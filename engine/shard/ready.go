package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
)

// equalWaits counts consecutive tasks that waited equally long from their enqueue until their first
// lease, so that one call adds them to the stage Ready. A wait starts and ends at the times of
// turns, which are whole milliseconds of one clock. The wait of one task is therefore off by up to
// 1 ms. Errors in both directions are equally frequent, so the mean of many tasks is not biased.
type equalWaits struct {
	stages *stages.Times
	took   time.Duration
	n      uint64
}

// add records how long tasks waited that were leased at nowMs for the first time. It skips
// tasks that were enqueued with a delay.
func (w *equalWaits) add(leased []queue.Delivery, nowMs int64) {
	for i := range leased {
		if leased[i].HasProgress { // leased before, or enqueued with a delay
			continue
		}
		took := time.Duration(max(0, nowMs-leased[i].EnqueuedAtMs)) * time.Millisecond
		if took != w.took {
			w.end()
			w.took = took
		}
		w.n++
	}
}

func (w *equalWaits) end() {
	if w.n > 0 {
		w.stages.ObserveSample(stages.Timed{Stage: stages.Ready, Took: w.took}, w.n)
		w.n = 0
	}
}

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
	took time.Duration
	n    uint64
}

// addWaits records how long tasks waited that were leased at nowMs for the first time. It skips
// tasks that were enqueued with a delay.
func (s *Shard) addWaits(leased []queue.Delivery, nowMs int64) {
	for i := range leased {
		if leased[i].HasProgress { // leased before, or enqueued with a delay
			continue
		}
		took := time.Duration(max(0, nowMs-leased[i].EnqueuedAtMs)) * time.Millisecond
		if took != s.waits.took {
			s.endWaits()
			s.waits.took = took
		}
		s.waits.n++
	}
}

func (s *Shard) endWaits() {
	if s.waits.n > 0 {
		s.opts.Stages.ObserveSample(stages.Timed{Stage: stages.Ready, Took: s.waits.took}, s.waits.n)
		s.waits.n = 0
	}
}

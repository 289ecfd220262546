package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
)

// equalWaits are tasks that waited equally long from their enqueue until their first lease, one after the other: they are added to the
// stage Ready together. Both ends of a wait are the times of turns, in whole milliseconds by one clock. So the wait of one task is off by up
// to 1 ms, in both directions equally often, and the mean of many is not.
type equalWaits struct {
	took time.Duration
	n    uint64
}

// addWaits adds the waits of tasks that were leased for the first time, at nowMs. Tasks with a delay are left out.
func (s *Shard) addWaits(leased []queue.Delivery, nowMs int64) {
	for i := range leased {
		if leased[i].HasProgress { // it was leased before, or enqueued with a delay
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

// endWaits adds the waits so far to the stage.
func (s *Shard) endWaits() {
	if s.waits.n > 0 {
		s.opts.Stages.ObserveSample(stages.Timed{Stage: stages.Ready, Took: s.waits.took}, s.waits.n)
		s.waits.n = 0
	}
}

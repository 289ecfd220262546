package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
)

// batchTimes are when a batch came from one stage into the next, by stages.Now; 0 where it did not.
type batchTimes struct {
	since     time.Duration // its oldest command came
	began     time.Duration // its decision did
	decided   time.Duration // ended
	submitted time.Duration // the store, or the log that nodes share, has it
	taken     time.Duration // the publishing goroutine has it
	durable   time.Duration
	answering time.Duration // its answers go out, where they waited for something else than its commit
}

// observe notes a batch whose answers are out, unless it failed. A batch costs one reading of the clock for each stage,
// however many commands it has.
func (s *Shard) observe(t *batchTimes) {
	if t.began == 0 {
		return
	}
	var list [6]stages.Timed
	all := list[:0]
	add := func(stage stages.Stage, took time.Duration) {
		all = append(all, stages.Timed{Stage: stage, Took: took})
	}
	if t.since != 0 {
		add(stages.Inbox, t.began-t.since)
	}
	add(stages.Decide, t.decided-t.began)
	answering := max(t.taken, t.durable, t.answering)
	if t.durable != 0 {
		if s.opts.Replicate == nil {
			add(stages.Apply, t.submitted-t.decided)
			add(stages.CommitWait, t.taken-t.submitted)
			add(stages.Commit, t.durable-t.taken)
		} else {
			add(stages.CommitWait, t.submitted-t.decided)
			add(stages.Commit, t.durable-t.submitted)
		}
	}
	add(stages.Reply, stages.Now()-answering)
	s.opts.Stages.Observe(all...)
}

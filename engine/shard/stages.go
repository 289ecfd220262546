package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
)

// batchTimes contains the times of the events of a turn, by stages.Now. A time is 0 if the turn had
// no such event.
type batchTimes struct {
	since     time.Duration // the oldest command arrived
	began     time.Duration // the decision began
	decided   time.Duration // the decision ended
	submitted time.Duration // the store or the Raft log accepted the batch
	taken     time.Duration // the publishing goroutine received the turn
	durable   time.Duration // the commit became durable
	answering time.Duration // a wait for an early commit or a confirmation of leadership ended
}

// observe adds the times of a published turn to the histograms. The clock is read once per stage
// and turn, so the cost does not depend on the number of commands.
func (p *publisher) observe(t *batchTimes) {
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
		if p.shard.opts.Replicate == nil {
			add(stages.Apply, t.submitted-t.decided)
			add(stages.CommitWait, t.taken-t.submitted)
			add(stages.Commit, t.durable-t.taken)
		} else {
			add(stages.CommitWait, t.submitted-t.decided)
			add(stages.Commit, t.durable-t.submitted)
		}
	}
	p.published = stages.Now()
	add(stages.Reply, p.published-answering)
	p.shard.opts.Stages.Observe(all...)
}

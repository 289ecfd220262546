package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// commits submits the decisions of a shard. The deciding goroutine owns it.
type commits struct {
	state *queue.State
	batch *batch         // the mutations of the turn so far
	log   storage.Log    // nil if the shard is not replicated
	last  storage.Commit // the last submitted commit
	early []earlyCommit  // commits of this turn so far: see submitEarly
}

// submit submits the turn's batch to the store, or in a replicated shard proposes it to the log. It
// does not wait until the batch is durable. The deciding goroutine calls submit, so that the
// commits are in the order of the decisions. A proposal blocks while too many log entries are under
// way.
//
// In a replicated shard, a successful commit proves that this node still leads. A turn that changed
// nothing has no commit. If the answers of such a turn depend on the state, submit asks the log to
// confirm the leadership, and the publishing goroutine waits for the confirmation.
func (c *commits) submit(t *turn) {
	t.committed = t.err == nil && c.flush()
	t.times.decided = stages.Now()
	if t.committed {
		t.commit, t.err = c.batch.Submit()
		t.times.submitted = stages.Now()
		c.last = t.commit
	}
	if t.err == nil && !t.committed && len(t.early) == 0 && c.log != nil && answers(t.commands) {
		t.verified = c.log.Verify()
	}
}

// flush adds to the batch the records that all commands of the turn share. It reports whether the
// batch contains anything to commit.
func (c *commits) flush() bool {
	defer c.batch.Begin(c.batch.Begin(storage.StepCommit))
	return c.state.Flush() || !c.batch.Empty()
}

type earlyCommit struct {
	storage.Commit
	began, submitted time.Duration
}

// submitEarly commits all decisions so far and waits until reads of the store see them. It blocks
// the deciding goroutine; in a replicated shard, for a Raft round trip. It is therefore called only
// for a task that changed during each of roundsMax readings (see examine).
//
// Nothing of the turn is published before the whole turn is durable. If a later part of the turn
// fails, the early part still took effect: awaitCommit then reports an unknown outcome instead of a
// refusal.
func (c *commits) submitEarly() error {
	if c.flush() {
		e := earlyCommit{began: stages.Now()}
		var err error
		if e.Commit, err = c.batch.Submit(); err != nil {
			return err
		}
		e.submitted = stages.Now()
		c.last = e.Commit
		c.early = append(c.early, e)
	}
	return c.last.Visible()
}

func (c *commits) takeEarly() []earlyCommit {
	early := c.early
	c.early = nil
	return early
}

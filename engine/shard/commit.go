package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/storage"
)

// commit submits the turn's batch to the store, or in a replicated shard proposes it to the log. It
// does not wait until the batch is durable. The deciding goroutine calls commit, so that the
// commits are in the order of the decisions. A proposal blocks while too many log entries are under
// way.
//
// In a replicated shard, a successful commit proves that this node still leads. A turn that changed
// nothing has no commit. If the answers of such a turn depend on the state, commit asks the log to
// confirm the leadership, and the publishing goroutine waits for the confirmation.
func (s *Shard) commit(t *turn) {
	t.committed = t.err == nil && s.flush()
	t.times.decided = stages.Now()
	if t.committed {
		planted.BeforeCommit()
		t.commit, t.err = s.batch.Submit()
		t.times.submitted = stages.Now()
		s.last = t.commit
	}
	if t.err == nil && !t.committed && len(t.early) == 0 && s.opts.Replicate != nil && answers(t.commands) {
		t.verified = s.opts.Replicate.Verify()
	}
}

// flush adds to the batch the records that all commands of the turn share. It reports whether the
// batch contains anything to commit.
func (s *Shard) flush() bool {
	defer s.batch.Begin(s.batch.Begin(storage.StepCommit))
	return s.state.Flush() || !s.batch.Empty()
}

type earlyCommit struct {
	storage.Commit
	began, submitted time.Duration
}

// commitEarly commits all decisions so far and waits until reads of the store see them. It blocks
// the deciding goroutine; in a replicated shard, for a Raft round trip. It is therefore called only
// for a task that changed during each of roundsMax readings (see examine).
//
// Nothing of the turn is published before the whole turn is durable. If a later part of the turn
// fails, the early part still took effect: awaitCommit then reports an unknown outcome instead of a
// refusal.
func (s *Shard) commitEarly() error {
	if s.flush() {
		c := earlyCommit{began: stages.Now()}
		var err error
		if c.Commit, err = s.batch.Submit(); err != nil {
			return err
		}
		c.submitted = stages.Now()
		s.last = c.Commit
		s.early = append(s.early, c)
	}
	return s.last.Visible()
}

package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/storage"
)

// commit submits the turn's batch to the store, or proposes it to the log of a replicated one, and
// does not wait until it is durable. Submitting here, in the deciding goroutine, keeps the commits
// in the order of the decisions. A proposal blocks while too many entries are under way.
//
// A turn of a replicated shard that changed nothing has no commit whose success would prove that
// this node still leads. If such a turn answers from the state, commit asks the log to confirm the
// leadership. The publishing goroutine waits for the confirmation.
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

// flush adds the records that the commands of a commit share, and reports whether there is anything
// to commit.
func (s *Shard) flush() bool {
	defer s.batch.Begin(s.batch.Begin(storage.StepCommit))
	return s.state.Flush() || !s.batch.Empty()
}

// earlyCommit is a commit that was submitted before the decision of its turn ended.
type earlyCommit struct {
	storage.Commit
	began, submitted time.Duration
}

// commitEarly commits all decisions so far and waits until reads of the store see them. A decision
// that must read the store calls it. It blocks the deciding goroutine, for the Raft round trip in a
// replicated shard, so only a task that kept changing through roundsMax readings justifies it.
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

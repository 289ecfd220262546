package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/storage"
)

// commit hands what the turn decided to the store, or to the log of a replicated one, and does not wait for it.
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

// flush completes the batch with what its commands share, and reports whether there is something to commit.
func (s *Shard) flush() bool {
	defer s.batch.Begin(s.batch.Begin(storage.StepCommit))
	return s.state.Flush() || !s.batch.Empty()
}

// earlyCommit is a commit before the end of its turn's decision.
type earlyCommit struct {
	storage.Commit
	began, submitted time.Duration
}

// commitEarly commits what was decided so far and waits until reads see it, for a decision that has to read the store. Nothing is
// published before the whole turn is durable.
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

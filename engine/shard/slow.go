package shard

import (
	"time"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/storage"
)

// committed records a commit in Options.Stalls if it was slow, with the parts of its duration. The
// publishing goroutine calls it once the commit is durable.
func (p *publisher) committed(c *storage.Commit, parts stalls.Parts, commands int, t batchTimes) {
	if !p.shard.opts.Stalls.Wants(t.decided, t.durable) {
		return
	}
	ready := t.submitted // from here on, only earlier commits delay this one
	if p.shard.opts.Replicate != nil {
		var took time.Duration // includes the wait for room in Raft
		took, parts = c.Applied()
		parts.RaftRoom = t.submitted - t.decided
		parts.Replicate = max(0, parts.Replicate-parts.RaftRoom)
		ready = max(ready, t.decided+took)
	}
	parts.Behind = max(0, min(p.published, t.durable)-ready)
	p.shard.opts.Stalls.Add(stalls.Commit{Shard: p.shard.opts.Number, Commands: commands, Began: t.decided, Ended: t.durable, Parts: parts})
}

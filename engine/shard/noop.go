package shard

import "github.com/pronybench/prony/engine/internal/serialbudget"

// Noop has the deciding goroutine do the work that package serialbudget is set to, and stores nothing. reply is called as for Enqueue. The
// caller bounds how many no-ops wait.
func (s *Shard) Noop(reply func(error)) error { return s.inbox.put(&noop{reply: reply}, load{}) }

type noop struct {
	reply  func(error)
	worked uint64 // the result of the work, so that the compiler does not leave the work out
}

func (c *noop) decide(*Shard, int64) { c.worked = serialbudget.Work() }

func (c *noop) publish(_ *Shard, err error) { c.reply(err) }

// Noop passes a no-op to the first shard that this node leads.
func (g *Group) Noop(reply func(error)) error {
	v := g.here.Load()
	if len(v.led) == 0 {
		return &NotLeaderError{0}
	}
	return v.shards[v.led[0]].Noop(reply)
}

package shard

import "github.com/pronybench/prony/engine/internal/serialbudget"

// Noop makes the deciding goroutine do the amount of work that package serialbudget is set to. It
// stores nothing. reply is called as for Enqueue. The inbox does not limit the number of waiting
// no-ops, so the caller must.
func (s *Shard) Noop(reply func(error)) error { return s.inbox.put(&noop{reply: reply}, load{}) }

type noop struct {
	reply  func(error)
	worked uint64 // the result, so that the compiler does not remove the work
}

func (c *noop) decide(*decider, int64) { c.worked = serialbudget.Work() }

func (c *noop) publish(_ *Shard, err error) { c.reply(err) }

// Noop passes a no-op to the first shard that this node leads.
func (g *Group) Noop(reply func(error)) error {
	v := g.here.Load()
	if len(v.led) == 0 {
		return &NotLeaderError{0}
	}
	return v.shards[v.led[0]].Noop(reply)
}

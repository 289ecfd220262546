package shard

import "github.com/pronybench/prony/engine/queue"

// acknowledge adds the number of enqueues and completions that the turn acknowledges to
// Options.Unsynced, which tracks the acknowledgements that a power loss could undo. It must run
// before the first answer is sent: otherwise a client could see an acknowledgement that Unsynced
// does not include yet.
func (p *publisher) acknowledge(t *turn) {
	if t.err != nil || !p.shard.opts.Unsynced.Counts() {
		return
	}
	tasks := 0
	for _, c := range t.commands {
		switch c := c.(type) {
		case *enqueue:
			tasks += c.stored()
		case *settle:
			tasks += c.completed()
		}
	}
	p.shard.opts.Unsynced.Acknowledged(tasks)
}

func (c *enqueue) stored() (n int) {
	for i := range c.out {
		if c.out[i].Err == nil && !c.out[i].Duplicate {
			n++
		}
	}
	return n
}

func (c *settle) completed() (n int) {
	for i := range c.out {
		if c.out[i] == nil && c.settlements[i].Action == queue.Complete {
			n++
		}
	}
	return n
}

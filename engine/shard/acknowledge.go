package shard

import "github.com/pronybench/prony/engine/queue"

// acknowledge counts the enqueues and completions of tasks that the turn acknowledges. It is called before an answer goes out, so that the
// window of loss never leaves out what a client knows.
func (s *Shard) acknowledge(t *turn) {
	if t.err != nil || !s.opts.Unsynced.Counts() {
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
	s.opts.Unsynced.Acknowledged(tasks)
}

// stored returns how many tasks the command stored.
func (c *enqueue) stored() (n int) {
	for i := range c.out {
		if c.out[i].Err == nil && !c.out[i].Duplicate {
			n++
		}
	}
	return n
}

// completed returns how many tasks the command completed.
func (c *settle) completed() (n int) {
	for i := range c.out {
		if c.out[i] == nil && c.settlements[i].Action == queue.Complete {
			n++
		}
	}
	return n
}

package route

import (
	"math/rand/v2"
	"sync"
)

// Changes notifies callers of changes of the routes. The routes are the leader of each shard and
// the client address of each node. The zero value is ready to use. Changes is safe for concurrent
// use.
type Changes struct {
	mu      sync.Mutex
	version uint64
	changed chan struct{} // closed and replaced with each change
}

// Changed records a change. It does not block.
func (c *Changes) Changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beginLocked()
	if c.version++; c.version == 0 {
		c.version = 1
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Version returns a version number that changes with each change of the routes, and a channel that
// the next change closes. The first number is random, to distinguish it from the numbers of an
// earlier process. The number is never 0.
func (c *Changes) Version() (version uint64, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beginLocked()
	return c.version, c.changed
}

func (c *Changes) beginLocked() {
	if c.changed == nil {
		c.version, c.changed = max(1, rand.Uint64()), make(chan struct{})
	}
}

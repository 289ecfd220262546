package rpc

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDoorIsShutWhenNobodyIsIn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := newDoor(2)
	assert.True(t, d.enter(ctx))
	assert.True(t, d.enter(ctx))
	assert.False(t, d.shut(), "two are in")
	d.leave()
	assert.False(t, d.shut())
	d.leave()
	assert.True(t, d.shut())
	assert.True(t, d.shut(), "it stays shut")
	assert.False(t, d.enter(ctx))
	assert.False(t, d.enter(ctx), "who was turned away takes no room")
	assert.False(t, d.enter(ctx))

	full := newDoor(1)
	assert.True(t, full.enter(ctx))
	cancel()
	assert.False(t, full.enter(ctx), "there is no room, and nobody waits any more")
}

// Whoever is let in while the door is being shut keeps it open until they leave.
func TestDoorIsNotShutOnAnybody(t *testing.T) {
	for range 1_000 {
		d := newDoor(4)
		var in sync.WaitGroup
		entered := make(chan bool, 1)
		in.Go(func() { entered <- d.enter(t.Context()) })
		shut := d.shut()
		if was := <-entered; was {
			assert.False(t, shut && was, "shut with somebody in")
			assert.False(t, d.shut())
			d.leave()
		}
		assert.True(t, d.shut())
		in.Wait()
	}
}

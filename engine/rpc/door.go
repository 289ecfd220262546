package rpc

import (
	"context"
	"math"
	"sync/atomic"
)

// door counts the frames of a stream that were read and not answered, and bounds them. Once it is shut no frame is carried
// out any more: so who ends a stream leaves none without an answer, and what has none was not done.
type door struct {
	room   chan struct{} // has an element for each frame that is in
	inside atomic.Int64  // their number, or doorShut
}

const doorShut = math.MinInt64

func newDoor(framesMax int) *door { return &door{room: make(chan struct{}, framesMax)} }

// enter takes a frame in, once there is room. It returns false when the door is shut, or ctx ends.
func (d *door) enter(ctx context.Context) bool {
	select {
	case d.room <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	for {
		n := d.inside.Load()
		if n == doorShut {
			<-d.room
			return false
		}
		if d.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave lets an answered frame out.
func (d *door) leave() {
	d.inside.Add(-1)
	<-d.room
}

// shut shuts the door if no frame is in, and reports whether it is shut.
func (d *door) shut() bool {
	return d.inside.CompareAndSwap(0, doorShut) || d.inside.Load() == doorShut
}

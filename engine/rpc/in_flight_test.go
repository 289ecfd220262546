package rpc

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestInFlightClosesOnlyWithoutFrames(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newInFlight(2)
	assert.True(t, f.acquire(ctx))
	assert.True(t, f.acquire(ctx))
	assert.False(t, f.close(), "two frames are in flight")
	f.release()
	assert.False(t, f.close())
	f.release()
	assert.True(t, f.close())
	assert.True(t, f.close(), "the limit stays closed")
	assert.False(t, f.acquire(ctx))
	assert.False(t, f.acquire(ctx), "a refused frame takes no slot")
	assert.False(t, f.acquire(ctx))

	full := newInFlight(1)
	assert.True(t, full.acquire(ctx))
	cancel()
	assert.False(t, full.acquire(ctx), "the limit is reached, and the context has ended")
}

// A frame that is admitted while the limit is being closed keeps the limit open until the frame is
// answered.
func TestInFlightClosesOnNoAdmittedFrame(t *testing.T) {
	for range 1_000 {
		f := newInFlight(4)
		var in sync.WaitGroup
		acquired := make(chan bool, 1)
		in.Go(func() { acquired <- f.acquire(t.Context()) })
		closed := f.close()
		if was := <-acquired; was {
			assert.False(t, closed && was, "closed with a frame in flight")
			assert.False(t, f.close())
			f.release()
		}
		assert.True(t, f.close())
		in.Wait()
	}
}

package shard

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// growing waits until the shard has worked on one batch for a while.
func (f *fixture) growing() {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.UnderWay() > 10*time.Millisecond }, waitMost, waitStep)
}

func (f *fixture) idle() {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.UnderWay() == 0 }, waitMost, waitStep)
}

func TestUnderWayTellsOfACommitThatStalls(t *testing.T) {
	disk, fs := newSlowLog()
	f := start(t, fs, Options{})
	defer f.stop()
	defer disk.letGo()
	f.enqueue(newTasks("q", 1)...)
	f.idle()

	disk.held.Store(true)
	later := f.enqueueLater(newTasks("q", 1)...)
	receive(t, disk.entered)
	f.growing()
	assert.Zero(t, f.deciding.age(), "the deciding goroutine is not blocked")
	disk.letGo()
	require.NoError(t, receive(t, later).err)
	f.idle()
}

// When the pipe is full of commits under way, deciding stalls too.
func TestUnderWayTellsOfADecisionThatStalls(t *testing.T) {
	disk, fs := newSlowLog()
	f := start(t, fs, Options{})
	defer f.stop()
	defer disk.letGo()
	f.enqueue(newTasks("q", 1)...)
	f.idle()

	disk.held.Store(true)
	var answers []<-chan reply[[]queue.Enqueued]
	require.Eventually(t, func() bool {
		answers = append(answers, f.enqueueLater(newTasks("q", 1)...))
		return f.deciding.age() > 10*time.Millisecond
	}, waitMost, waitStep)
	f.growing()
	disk.letGo()
	for _, a := range answers {
		require.NoError(t, receive(t, a).err)
	}
	f.idle()
}

// holdUp is a command whose decision blocks until the test opens gate.
type holdUp struct{ entered, gate chan struct{} }

func (c holdUp) decide(*decider, int64) {
	close(c.entered)
	<-c.gate
}

func (holdUp) publish(*Shard, error) {}

func TestUnderWayOfAGroupNamesTheShard(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	defer f.stop()
	c := holdUp{make(chan struct{}), make(chan struct{})}
	require.NoError(t, f.inbox.put(c, load{}))
	receive(t, c.entered)
	f.growing()
	g := &Group{}
	g.here.Store(newView([]*Shard{{}, f.Shard}))
	stalled, d := g.UnderWay()
	assert.Equal(t, 1, stalled)
	assert.Positive(t, d)
	close(c.gate)
	f.idle()
}

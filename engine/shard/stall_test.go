package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// growing waits until the shard has been at one batch for a while.
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
	assert.Zero(t, f.deciding.age(), "it goes on deciding")
	disk.letGo()
	require.NoError(t, receive(t, later).err)
	f.idle()
}

// As many commits may be under way as the pipe takes: then deciding stalls too.
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

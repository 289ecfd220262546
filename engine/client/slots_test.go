package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

func TestSlotsAreSharedEvenly(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n, nodes := rapid.IntRange(1, 100).Draw(r, "slots"), rapid.IntRange(1, 10).Draw(r, "nodes")
		served := make([]bool, nodes)
		for turn := range nodes {
			sum, least, most := 0, n, 0
			for place := range nodes {
				share := int(shareOf(n, place, nodes, turn))
				sum, least, most = sum+share, min(least, share), max(most, share)
				served[place] = served[place] || share > 0
			}
			require.Equal(r, n, sum)
			require.LessOrEqual(r, most-least, 1)
		}
		require.NotContains(r, served, false, "each node gets a turn")
	})
}

// acted returns a link of a worker whose frames are discarded.
func acted() *workLink {
	l := &workLink{link: &link[*queuepb.Task]{}}
	l.batcher = (&batcher[*queuepb.Task]{}).setUp()
	return l
}

// TestSlotsGoToWhoHasTooFew adds and removes links, including links with slots that other links
// need.
func TestSlotsGoToWhoHasTooFew(t *testing.T) {
	s := &slots{total: 10, spare: 10}
	a, b := acted(), acted()
	a.slots, b.slots = s, s
	require.EqualValues(t, 10, s.admit(a, 10))
	require.EqualValues(t, 0, s.admit(b, 5), "no slots are spare")
	s.check(t, 10)
	s.arrived(a, numbered(1, 8), 0)
	half := func(*workLink) int32 { return 5 }
	require.Same(t, a, s.setShares(half), "a has two unused slots, and b has none")
	s.settled([]*call[*queuepb.Task]{{items: numbered(1, 4)}})
	s.check(t, 10)
	assert.EqualValues(t, 6, a.has)
	assert.EqualValues(t, 4, b.has, "b gets a's freed slots up to its share")
	assert.EqualValues(t, 4, b.freed.Load())
	assert.Len(t, b.batcher.wake, 1, "the server gets the credits")
	s.arrived(a, numbered(9, 2), 0)
	require.Nil(t, s.setShares(half), "a uses all its slots")
	s.settled([]*call[*queuepb.Task]{{items: numbered(5, 1), errs: []error{ErrInvalidArgument}}, {items: numbered(6, 1), how: settling{action: queuepb.SettleAction_SETTLE_ACTION_EXTEND}}})
	assert.EqualValues(t, 6, a.has, "neither outcome ends a lease")
	s.settled([]*call[*queuepb.Task]{{items: numbered(5, 1)}, {items: numbered(5, 1)}})
	assert.EqualValues(t, 5, a.has)
	assert.EqualValues(t, 5, b.has)
	s.leave(a)
	s.leave(a)
	s.check(t, 10)
	assert.Zero(t, s.spare, "tasks from a keep their slots")
	require.Nil(t, s.setShares(func(*workLink) int32 { return 10 }))
	s.freeAll(numbered(6, 5), []error{nil, ErrStaleToken, ErrNotFound, ErrUnknownOutcome, ErrUnavailable})
	s.check(t, 10)
	assert.EqualValues(t, 9, b.has)
	heir := acted()
	require.EqualValues(t, 0, s.admit(heir, 10))
	s.leave(b)
	s.check(t, 10)
	assert.EqualValues(t, 9, heir.has)
	assert.EqualValues(t, 9, heir.freed.Load())
}

// TestAWorkerServesMoreNodesThanItHasSlots checks that the nodes get slots in turn.
func TestAWorkerServesMoreNodesThanItHasSlots(t *testing.T) {
	const n = 9
	ctx := bounded(t)
	c := running(t, 3, 3)
	c.lead(1, 1)
	c.lead(2, 2)
	w, err := c.client(t, nil, hasty).Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 1})
	require.NoError(t, err)
	c.add(n)
	for range n {
		task, err := w.Receive(ctx)
		require.NoError(t, err)
		w.slots.check(t, 1)
		_, more := w.TryReceive()
		require.False(t, more)
		require.NoError(t, w.Complete(ctx, task))
	}
	require.NoError(t, w.Close(ctx))
	for _, s := range c.stored {
		assert.Equal(t, 1, s.completed)
	}
}

// TestALinkGivesUpWhatAnotherOneLacks checks that a worker that has granted all its slots to one
// node also serves a second one.
func TestALinkGivesUpWhatAnotherOneLacks(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 3, 3) // the third node is idle
	c.change(func() {
		c.leaders = []int{0, -1, -1}
		for _, n := range c.nodes {
			n.lies = []int{0, 0, 0}
		}
	})
	w, err := c.client(t, nil, hasty).Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 4})
	require.NoError(t, err)
	c.change(func() {
		c.leaders = []int{0, 1, 1}
		for _, n := range c.nodes {
			n.lies = nil
		}
	})
	c.add(3)
	var tasks []*queuepb.Task
	for range 3 { // one of the tasks is on the first node, whose link has all slots
		task, err := w.Receive(ctx)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	w.slots.check(t, 4)
	_, err = w.CompleteBatch(ctx, tasks)
	require.NoError(t, err)
	require.NoError(t, w.Close(ctx))
}

// TestCloseGivesBackWhatNobodyReceivedOfACluster checks that Close releases unreceived tasks at all
// nodes.
func TestCloseGivesBackWhatNobodyReceivedOfACluster(t *testing.T) {
	ctx := bounded(t)
	c := running(t, 2, 2)
	c.lead(1, 1)
	c.add(8)
	w, err := c.client(t, nil).Worker(ctx, WorkerConfig{Queues: []string{"q"}, Slots: 8})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		w.tasks.mu.Lock()
		defer w.tasks.mu.Unlock()
		return len(w.tasks.tasks) == 8
	}, patience, time.Millisecond)
	require.NoError(t, w.Close(ctx))
	for _, s := range c.stored {
		assert.Zero(t, s.token, "the task is ready again")
	}
	_, err = w.Receive(ctx)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, w.Complete(ctx, &queuepb.Task{Id: "0", Token: 1}), ErrClosed)
	_, err = w.CompleteBatch(ctx, numbered(1, 2))
	require.ErrorIs(t, err, ErrClosed)
}

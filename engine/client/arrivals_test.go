package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
)

func numbered(from, n int) (tasks []*queuepb.Task) {
	for i := range n {
		tasks = append(tasks, &queuepb.Task{Token: uint64(from + i)})
	}
	return tasks
}

func (a *arrivals) waits() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting)
}

func TestTasksAreReceivedInTheirOrder(t *testing.T) {
	a := arrivals{max: 100}
	next := 0
	for pushed := 0; pushed < 5_000; { // alternate between waiting and received tasks
		require.True(t, a.put(numbered(pushed, 70)))
		pushed += 70
		for range 69 {
			got, err := a.receive(context.Background())
			require.NoError(t, err)
			require.EqualValues(t, next, got.GetToken())
			next++
		}
		if pushed-next > 20 {
			got, ok := a.tryReceive()
			require.True(t, ok)
			require.EqualValues(t, next, got.GetToken())
			next++
		}
	}
	assert.LessOrEqual(t, cap(a.tasks), 512, "received tasks are not retained")
}

func TestReceiversGetTheirTasksInTheOrderTheyCame(t *testing.T) {
	const n = 50
	a := arrivals{max: n}
	var receivers sync.WaitGroup
	got := make([]uint64, n)
	for i := range n {
		receivers.Go(func() {
			task, err := a.receive(context.Background())
			assert.NoError(t, err)
			got[i] = task.GetToken()
		})
		require.Eventually(t, func() bool { return a.waits() == i+1 }, patience, time.Microsecond)
	}
	require.True(t, a.put(numbered(0, 7)))
	require.True(t, a.put(numbered(7, n)))
	receivers.Wait()
	for i := range got {
		assert.EqualValues(t, i, got[i])
	}
	for i := range 7 {
		task, ok := a.tryReceive()
		require.True(t, ok)
		assert.EqualValues(t, n+i, task.GetToken())
	}
	_, ok := a.tryReceive()
	assert.False(t, ok)
}

func TestMoreTasksThanThereMayBeAreNotTaken(t *testing.T) {
	a := arrivals{max: 3}
	require.True(t, a.put(numbered(0, 3)))
	require.False(t, a.put(numbered(3, 1)))
	_, _ = a.tryReceive()
	require.True(t, a.put(numbered(3, 1)))
	require.False(t, a.put(numbered(4, 1)))
}

// TestNoTaskIsLostToAReceiverThatGivesUp pushes tasks while receivers give up: each task must be
// received once.
func TestNoTaskIsLostToAReceiverThatGivesUp(t *testing.T) {
	const n = 20_000
	a := arrivals{max: n}
	received := make([]int, n)
	var mu sync.Mutex
	note := func(task *queuepb.Task) {
		mu.Lock()
		defer mu.Unlock()
		received[task.GetToken()]++
	}
	var receivers sync.WaitGroup
	over, end := context.WithCancel(context.Background())
	for range 8 {
		receivers.Go(func() {
			for over.Err() == nil {
				ctx, cancel := context.WithCancel(over)
				go cancel()
				if task, err := a.receive(ctx); err == nil {
					note(task)
				}
				cancel()
			}
		})
	}
	for i := range n {
		require.True(t, a.put(numbered(i, 1)))
	}
	end()
	receivers.Wait()
	assert.Zero(t, a.waits())
	for {
		task, ok := a.tryReceive()
		if !ok {
			break
		}
		note(task)
	}
	for i, times := range received {
		require.Equal(t, 1, times, "task %d", i)
	}
}

func TestTheEndReachesAllReceivers(t *testing.T) {
	a := arrivals{max: 1}
	why := errors.New("why")
	got := make(chan error)
	for range 3 {
		go func() {
			_, err := a.receive(context.Background())
			got <- err
		}()
	}
	require.Eventually(t, func() bool { return a.waits() == 3 }, patience, time.Millisecond)
	a.end(why)
	for range 3 {
		require.ErrorIs(t, <-got, why)
	}
	a.end(fmt.Errorf("later"))
	_, err := a.receive(context.Background())
	require.ErrorIs(t, err, why, "the first reason counts")
}

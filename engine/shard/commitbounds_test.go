package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/queue"
)

// A commit is bounded by tasks, by bytes, or to one command.
func TestCommitsAreBounded(t *testing.T) {
	many := make([]command, 1_000)
	for i := range many {
		many[i] = &enqueue{tasks: make([]queue.NewTask, 4), bytes: 1_000}
	}
	for name, c := range map[string]struct {
		o    Options
		want int
	}{
		"by default":           {Options{}, 128},
		"by fewer tasks":       {Options{CommitTasksMax: 10}, 3},
		"by more tasks":        {Options{CommitTasksMax: 2_000}, 500},
		"by all tasks":         {Options{CommitTasksMax: 1 << 14}, 1_000},
		"by bytes":             {Options{CommitBytesMax: 2_500}, 3},
		"by less than one":     {Options{CommitTasksMax: 1, CommitBytesMax: 1}, 1},
		"without group commit": {Options{Alone: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, vfs.NewMem(), c.o)
			defer f.stop()
			assert.Equal(t, c.want, f.entry(many))
			assert.Equal(t, 1, f.entry(many[:1]), "a turn has at least one command")
		})
	}
}

// Commands that wait together are committed in parts within the bounds.
func TestWaitingCommandsAreCommittedWithinTheBounds(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want []int // commands per commit
	}{
		"by default":           {Options{}, []int{6}},
		"by tasks":             {Options{CommitTasksMax: 4}, []int{4, 2}},
		"by bytes":             {Options{CommitBytesMax: 100}, []int{2, 2, 2}},
		"without group commit": {Options{Alone: true}, []int{1, 1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			clock, commits := newStuckClock(), make(chan int, 6)
			c.o.NowMs, c.o.Observe = clock.nowMs, func(s CommitStats) { commits <- s.Commands }
			f := start(t, vfs.NewMem(), c.o)
			defer f.stop()
			defer clock.letGo()
			receive(t, clock.entered)
			for range 6 {
				f.enqueueLater(queue.NewTask{Queue: "q", Payload: make([]byte, 60)})
			}
			clock.letGo()
			for _, want := range c.want {
				assert.Equal(t, want, receive(t, commits))
			}
		})
	}
}

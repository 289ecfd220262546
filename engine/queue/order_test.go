package queue

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// named is a fixture with one queue, whose tasks have names.
type named struct {
	*fixture
	names map[Ref]string
}

func newNamed(t *testing.T, cfg Config) *named {
	t.Helper()
	return &named{newFixture(t, cfg), map[Ref]string{}}
}

func (f *named) enqueue(name string, delayMs uint64) {
	f.t.Helper()
	f.names[f.fill("q", 1, func(n *NewTask) { n.DelayMs = delayMs })[0]] = name
}

// claim claims n tasks, one after the other, and returns their names.
func (f *named) claim(n int) (names []string) {
	f.t.Helper()
	for range n {
		names = append(names, f.names[f.lease("q").Ref])
	}
	return names
}

func (f *named) end(d Delivery, how Action, delayMs uint64) {
	f.t.Helper()
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: how, DelayMs: delayMs}}, out)
	require.NoError(f.t, out[0])
}

func TestADelayedTaskIsAsOldAsItsDueTime(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprint("restarts=", restarts), func(t *testing.T) {
			f := newNamed(t, Config{})
			f.enqueue("first", 0)
			f.enqueue("second", 100)
			f.pass(99)
			f.enqueue("third", 0)
			f.pass(2)
			f.enqueue("fourth", 0)
			if restarts {
				f.recover(f.cfg)
			}
			assert.Equal(t, []string{"first", "third", "second", "fourth"}, f.claim(4))
		})
	}
}

// A task that returns after a claim was at the front of the queue before, so it precedes all tasks
// that were not claimed yet, including delayed tasks that became due before its return.
func TestATaskThatReturnsPrecedesThoseNeverClaimed(t *testing.T) {
	for name, comeBack := range map[string]func(*named, Delivery){
		"released":          func(f *named, d Delivery) { f.end(d, Release, 0) },
		"released to later": func(f *named, d Delivery) { f.end(d, Release, 5); f.pass(5) },
		"failed":            func(f *named, d Delivery) { f.end(d, Fail, 5); f.pass(5) },
		"lease expired":     func(f *named, _ Delivery) { f.pass(int64(f.cfg.LeaseMs)) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newNamed(t, Config{})
			f.enqueue("first", 0)
			f.enqueue("second", 0)
			f.enqueue("delayed", 1)
			f.pass(1)
			f.enqueue("fourth", 0)
			comeBack(f, f.lease("q"))
			assert.Equal(t, []string{"first", "second", "delayed", "fourth"}, f.claim(4))
		})
	}
}

func TestARedrivenTaskIsAsOldAsItsRedrive(t *testing.T) {
	f := newNamed(t, Config{MaxAttempts: 1})
	f.enqueue("dead", 0)
	dead := f.lease("q")
	f.end(dead, Fail, 1)
	f.enqueue("before", 0)
	f.pass(1)
	stored, found := f.journal.look(dead.Ref)
	require.True(t, found)
	f.redrive(&stored)
	f.pass(1)
	f.enqueue("after", 0)
	assert.Equal(t, "before", f.names[f.lease("q").Ref])
	redriven := f.lease("q")
	assert.Equal(t, dead.Ref, redriven.Ref)
	f.end(redriven, Release, 0)
	assert.Equal(t, []string{"dead", "after"}, f.claim(2), "it was claimed since")
}

// Windows that are much smaller than the backlog of each kind do not change the order.
func TestTheOrderDoesNotDependOnTheWindows(t *testing.T) {
	const n = 200
	f := newNamed(t, Config{WindowTasks: 3})
	var want []string
	for i := range n {
		if i%3 == 0 { // due with the first task without a delay
			name := fmt.Sprint("delayed ", i)
			f.enqueue(name, uint64(n-i))
			want = append(want, name)
		}
		f.pass(1)
	}
	for i := range n {
		name := fmt.Sprint("fresh ", i)
		f.enqueue(name, 0)
		want = append(want, name)
		switch i % 4 {
		case 0:
			f.enqueue(fmt.Sprint("due ", i), 2)
		case 1: // the next task without a delay is enqueued when it is due
			want = append(want, fmt.Sprint("due ", i-1))
		}
		f.pass(1)
	}
	var got []string
	for i := 0; len(got) < len(want); i++ {
		got = append(got, f.claim(min(7, len(want)-len(got)))...)
		if i%5 == 0 {
			f.recover(f.cfg)
		}
	}
	assert.Equal(t, want, got)
}

// A task of one kind among a stream of the other kind waits only for older tasks, even if the backlog
// never becomes empty.
func TestNeitherFreshNorDelayedTasksStarve(t *testing.T) {
	for name, c := range map[string]struct{ delayMs, streamDelayMs uint64 }{
		"fresh tasks among delayed ones": {0, 3},
		"delayed tasks among fresh ones": {3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const backlog = 20
			f := newNamed(t, Config{WindowTasks: 4})
			step := func() {
				f.enqueue("stream", c.streamDelayMs)
				f.pass(1)
			}
			for range backlog {
				step()
			}
			f.pass(3)
			f.enqueue("one", c.delayMs)
			for between := 0; f.names[f.lease("q").Ref] != "one"; between++ {
				require.LessOrEqual(t, between, backlog+3)
				step()
			}
		})
	}
}

// If a restart adopts an earlier time, tasks without a delay keep their order, and a delayed task
// takes its place by the times that were recorded.
func TestOrderAfterTheClockSteppedBack(t *testing.T) {
	f := newNamed(t, Config{})
	f.pass(100)
	f.enqueue("first", 0)
	f.now -= 50
	f.recover(f.cfg)
	f.enqueue("second", 0)
	f.enqueue("delayed", 10)
	f.pass(20)
	f.enqueue("fourth", 0)
	assert.Equal(t, []string{"delayed", "first", "second", "fourth"}, f.claim(4))
}

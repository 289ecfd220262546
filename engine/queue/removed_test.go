package queue

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func keyed(n *NewTask) { n.Key = "k" }

func (f *fixture) recover(cfg Config) {
	f.Flush()
	s, err := New(cfg, f.journal, f.journal.recovered())
	require.NoError(f.t, err)
	f.State = s
}

func (f *fixture) lease(queue string) Delivery {
	f.t.Helper()
	w := f.wait(1, queue)
	ds := f.dispatch()[w]
	require.Len(f.t, ds, 1)
	f.Unsubscribe(w)
	return ds[0]
}

func (f *fixture) settle(queue string, how Action) {
	f.t.Helper()
	d := f.lease(queue)
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: how}}, out)
	require.NoError(f.t, out[0])
	f.Flush()
}

func (f *fixture) cancel(ref Ref) {
	f.t.Helper()
	f.Flush()
	t, found := f.journal.look(ref)
	require.True(f.t, found)
	f.Cancel(&t)
}

func (f *fixture) redrive(t *Stored) {
	f.t.Helper()
	did, err := f.Redrive(t)
	require.NoError(f.t, err)
	require.True(f.t, did)
}

func (f *fixture) purge() {
	f.t.Helper()
	q, found := f.Named("t", "q")
	require.True(f.t, found)
	removed, more := f.Purge(q, 10)
	for removed == 0 && more { // after a recovery the window is empty
		for _, r := range f.Refills() {
			f.journal.answer(f.State, r)
		}
		removed, more = f.Purge(q, 10)
	}
	require.Equal(f.t, 1, removed)
}

// Cancelling or purging a task in any state frees its idempotency key immediately. The key can be
// freed repeatedly.
func TestARemovedTaskFreesItsKey(t *testing.T) {
	removals := map[string]func(*fixture, Ref){
		"cancelled": func(f *fixture, ref Ref) { f.cancel(ref) },
		"purged":    func(f *fixture, _ Ref) { f.purge() },
		"cancelled while leased": func(f *fixture, ref Ref) {
			f.lease("q")
			f.cancel(ref)
		},
		"purged from the dead letters": func(f *fixture, ref Ref) {
			f.settle("q", Fail)
			dead, _ := f.journal.look(ref)
			require.True(f.t, f.PurgeDead(&dead))
		},
	}
	for name, remove := range removals {
		for _, recovers := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				cfg := Config{MaxAttempts: 1}
				f := newFixture(t, cfg)
				for before := map[Ref]bool{}; len(before) < 3; {
					ref := f.fill("q", 1, keyed)[0]
					require.False(t, before[ref], "the key is not free")
					assert.Equal(t, ref, f.fill("q", 1, keyed)[0], "the key belongs to the task")
					if recovers {
						f.recover(cfg)
					}
					remove(f, ref)
					if recovers {
						f.recover(cfg)
					}
					before[ref] = true
				}
			})
		}
	}
}

func TestAQueueThatIsMadeAgainHasNoKeys(t *testing.T) {
	f := newFixture(t, Config{})
	before := f.fill("q", 1, keyed)[0]
	f.settle("q", Complete)
	f.wait(0, "q") // a waiter keeps the queue in memory
	q, _ := f.Named("t", "q")
	require.NoError(t, f.Delete(q))
	f.Flush()
	f.cancel(f.fill("q", 1)[0])
	assert.Len(t, f.journal.keys, 1, "no mark, because the new queue has no key to free")
	assert.NotEqual(t, before, f.fill("q", 1, keyed)[0])
}

// A completed or dead task keeps its key until the key expires.
func TestACompletedTaskKeepsItsKey(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	for _, how := range []Action{Complete, Fail} {
		f.cancel(f.fill("q", 1)[0]) // the removal of another task does not free the key
		ref := f.fill("q", 1, keyed)[0]
		f.settle("q", how)
		f.now += int64(DefaultConfig().KeyWindowMs) - 1
		assert.Equal(t, ref, f.fill("q", 1, keyed)[0])
		f.now++
	}
}

// The key of a removed task is free even if a server with a longer window stored it. It then
// belongs to the next task.
func TestAKeyIsFreeAfterItsWindowBecameShorter(t *testing.T) {
	f := newFixture(t, Config{KeyWindowMs: 60_000})
	removed := f.fill("q", 1, keyed)[0]
	f.cancel(removed)
	f.recover(Config{KeyWindowMs: 2_000})
	ref := f.fill("q", 1, keyed)[0]
	assert.NotEqual(t, removed, ref)
	f.now++
	assert.Equal(t, ref, f.fill("q", 1, keyed)[0])
}

// A removal stores a mark only in a queue with keys, and the mark is dropped with the keys.
func TestMarksOfRemovedTasksGo(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("q", 1, keyed)
	f.cancel(f.fill("plain", 1)[0])
	assert.Len(t, f.journal.keys, 1, "the other queue has no key")
	f.cancel(f.fill("q", 1)[0])
	assert.Len(t, f.journal.keys, 2)
	f.pass(2 * int64(DefaultConfig().KeyWindowMs))
	assert.Empty(t, f.journal.keys)
	assert.Equal(t, int64(math.MaxInt64), f.keys.next())
	f.fill("other", 1, keyed)
	f.cancel(f.fill("q", 1)[0])
	assert.Len(t, f.journal.keys, 1, "the queue's key has expired")
}

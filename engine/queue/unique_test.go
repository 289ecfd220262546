package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func uniqueKey(scope Scope, change ...func(*NewTask)) func(*NewTask) {
	return func(n *NewTask) {
		n.Key, n.KeyScope = "k", scope
		for _, c := range change {
			c(n)
		}
	}
}

// endings contains everything that can happen to a task, from its enqueue on. The task has two
// attempts and a time to live of 500 s.
var endings = map[string]func(*fixture, Ref){
	"waits":    func(*fixture, Ref) {},
	"leased":   func(f *fixture, _ Ref) { f.lease("q") },
	"retried":  func(f *fixture, _ Ref) { f.settle("q", Fail) },
	"released": func(f *fixture, _ Ref) { f.settle("q", Release) },
	"done":     func(f *fixture, _ Ref) { f.settle("q", Complete) },
	"dead": func(f *fixture, _ Ref) {
		f.settle("q", Fail)
		f.pass(60_000)
		f.settle("q", Fail)
	},
	"expired":   func(f *fixture, _ Ref) { f.expire() },
	"cancelled": func(f *fixture, ref Ref) { f.cancel(ref) },
	"purged":    func(f *fixture, _ Ref) { f.purge() },
	"cancelled while leased": func(f *fixture, ref Ref) {
		f.lease("q")
		f.cancel(ref)
	},
	"purged from the dead letters": func(f *fixture, ref Ref) {
		f.expire()
		f.purgeDead(ref)
	},
}

func (f *fixture) expire() {
	f.t.Helper()
	f.pass(500_000)
	for _, r := range f.Refills() {
		f.journal.answer(f.State, r)
	}
}

func (f *fixture) purgeDead(ref Ref) {
	f.t.Helper()
	f.Flush()
	dead, _ := f.journal.look(ref)
	require.True(f.t, f.PurgeDead(&dead))
}

// The scope determines which of these events frees the key, immediately and after a recovery.
func TestAUniqueKeyIsHeldForItsScope(t *testing.T) {
	held := map[Scope][]string{
		ForATime:      {"waits", "leased", "retried", "released", "done", "dead", "expired"},
		UntilStarted:  {"waits"},
		UntilFinished: {"waits", "leased", "retried", "released"},
	}
	for scope, names := range held {
		for name, end := range endings {
			for _, recovers := range []bool{false, true} {
				t.Run(fmt.Sprint("scope ", scope, ", ", name), func(t *testing.T) {
					cfg := Config{MaxAttempts: 2}
					f := newFixture(t, cfg)
					task := uniqueKey(scope, func(n *NewTask) { n.TTLMs = 500_000 })
					ref := f.fill("q", 1, task)[0]
					if recovers {
						f.recover(cfg)
					}
					end(f, ref)
					if recovers {
						f.recover(cfg)
					}
					again := f.fill("q", 1, task)[0]
					assert.Equal(t, slices.Contains(names, name), again == ref, "enqueued again as %v, before as %v", again, ref)
					assert.Equal(t, again, f.fill("q", 1, task)[0])
				})
			}
		}
	}
}

// A task that has lost its key does not free it when it ends, because another task holds it.
func TestATaskFreesOnlyTheKeyThatItHolds(t *testing.T) {
	for scope, loses := range map[Scope]func(*fixture){
		UntilStarted:  func(f *fixture) { f.settle("q", Fail) },
		UntilFinished: func(f *fixture) { f.expire() },
		ForATime:      func(f *fixture) { f.pass(500_000) },
	} {
		f := newFixture(t, Config{})
		task := uniqueKey(scope, func(n *NewTask) {
			n.TTLMs = 500_000
			if scope == ForATime {
				n.KeyWindowMs = 1
			}
		})
		first := f.fill("q", 1, task)[0]
		loses(f)
		second := f.fill("q", 1, uniqueKey(UntilFinished))[0]
		assert.NotEqual(t, first, second)
		f.cancel(first)
		assert.Equal(t, second, f.fill("q", 1, task)[0], "scope %d", scope)
		assert.Len(t, f.journal.uniques, 1)
	}
}

// A key has one holder, whether it is unique or not.
func TestUniqueAndPlainKeysExcludeEachOther(t *testing.T) {
	f := newFixture(t, Config{})
	plain := f.fill("q", 1, keyed)[0]
	assert.Equal(t, plain, f.fill("q", 1, uniqueKey(UntilFinished))[0])
	f.cancel(plain)
	unique := f.fill("q", 1, uniqueKey(UntilFinished))[0]
	assert.NotEqual(t, plain, unique)
	assert.Equal(t, unique, f.fill("q", 1, keyed)[0])
	f.cancel(unique)
	assert.NotEqual(t, unique, f.fill("q", 1, keyed)[0])
}

// The window is that of the task, else that of its queue, else that of the server.
func TestTheWindowOfAKey(t *testing.T) {
	const day = 24 * 3600_000
	f := newFixture(t, Config{KeyWindowMs: 3_000})
	require.NoError(t, f.Configure("t", "configured", Policy{KeyWindowMs: 30 * day}, 1))
	for _, c := range []struct {
		queue  string
		task   func(*NewTask)
		window int64
	}{
		{"q", keyed, 3_000},
		{"q", uniqueKey(ForATime), 3_000},
		{"q", uniqueKey(ForATime, func(n *NewTask) { n.KeyWindowMs = 7 * day }), 7 * day},
		{"configured", keyed, 30 * day},
		{"configured", uniqueKey(ForATime), 30 * day},
		{"configured", uniqueKey(ForATime, func(n *NewTask) { n.KeyWindowMs = 5 }), 5},
	} {
		ref := f.fill(c.queue, 1, c.task)[0]
		f.lease(c.queue)
		f.pass(c.window - 1)
		assert.Equal(t, ref, f.fill(c.queue, 1, c.task)[0])
		f.pass(1)
		f.cancel(f.fill(c.queue, 1, c.task)[0])
	}
	f.pass(60 * day)
	assert.Empty(t, f.journal.uniques)
	assert.Empty(t, f.journal.sums)
}

// However long the windows are, a look-up of a key reads a bounded number of buckets, and the record
// of a key stays for less than a quarter of its window beyond the window, or one bucket of the
// server's window.
func TestKeysOfManyWindowsNeedFewBuckets(t *testing.T) {
	const most = 30 * 24 * 3600_000
	f := newFixture(t, Config{})
	for i := range int64(3_000) {
		window := 1 + i*i*i*(most/(3_000*3_000*3_000))
		f.fill("q", 1, func(n *NewTask) { n.Key, n.KeyScope, n.KeyWindowMs = fmt.Sprint(i), ForATime, uint32(window) })
		f.pass(20_000)
	}
	assert.LessOrEqual(t, len(f.uniques.live), 80)
	base := keyBucketMs(DefaultConfig().KeyWindowMs)
	for at, k := range f.journal.uniques {
		assert.Less(t, at.bucket-k.ExpiresAtMs, max(base, (k.ExpiresAtMs-1_000)/4))
	}
	f.pass(2 * most)
	assert.Empty(t, f.journal.uniques)
}

// A task that uses no unique key writes and reads no record of one, even if another task of its
// queue does.
func TestOtherTasksPayNothingForUniqueKeys(t *testing.T) {
	f := newFixture(t, Config{})
	assert.Nil(t, f.journal.tasks[f.fill("q", 1, keyed)[0]].Extras)
	f.settle("q", Complete)
	f.cancel(f.fill("q", 1)[0])
	assert.Empty(t, f.journal.uniques)
	assert.False(t, f.byID[0].uniques, "it would look up each key")
}

// A redriven task takes its key again, or stays dead while another task holds it.
func TestARedrivenTaskTakesItsKeyAgain(t *testing.T) {
	f := newFixture(t, Config{MaxAttempts: 1})
	task := uniqueKey(UntilFinished)
	first := f.fill("q", 1, task)[0]
	f.settle("q", Fail)
	second := f.fill("q", 1, task)[0]
	dead, _ := f.journal.look(first)
	did, err := f.Redrive(&dead)
	assert.False(t, did)
	require.ErrorIs(t, err, ErrKeyTaken)
	assert.Equal(t, dead, func() Stored { s, _ := f.journal.look(first); return s }())

	f.cancel(second)
	f.redrive(&dead)
	assert.Equal(t, first, f.fill("q", 1, task)[0])
	f.settle("q", Complete)
	assert.NotEqual(t, first, f.fill("q", 1, task)[0])
}

// The record of a key is charged until it is removed. An expired record makes room for the record
// that replaces it.
func TestUniqueKeysAreCharged(t *testing.T) {
	f, a := withQuota(t, 10)
	task := uniqueKey(ForATime, func(n *NewTask) { n.KeyWindowMs = 1_000 })
	f.cancel(f.fill("q", 1)[0])
	f.Flush()
	empty := a.bytes
	f.fill("q", 1, task)
	assert.Equal(t, empty+TaskBytes(1)+UniqueBytes, a.bytes)
	f.settle("q", Complete)
	assert.Equal(t, empty+UniqueBytes, a.bytes)
	f.now += 1_000
	a.bytesMax = empty + TaskBytes(1) + UniqueBytes
	f.fill("q", 1, task)
	assert.Equal(t, a.bytesMax, a.bytes)
	f.purge()
	f.Flush()
	assert.Equal(t, empty, a.bytes)
}

func (f *fixture) enqueue1(change func(*NewTask)) Enqueued {
	f.t.Helper()
	n := NewTask{Queue: "q", Payload: []byte("q")}
	change(&n)
	out := make([]Enqueued, 1)
	f.Enqueue(f.now, "t", []NewTask{n}, out)
	return out[0]
}

func onConflict(c Conflict, change ...func(*NewTask)) func(*NewTask) {
	return uniqueKey(UntilFinished, append(change, func(n *NewTask) { n.KeyConflict = c })...)
}

func TestAConflictIsRefused(t *testing.T) {
	f := newFixture(t, Config{})
	first := f.fill("q", 1, onConflict(Refuse))[0]
	assert.Equal(t, Enqueued{Ref: first, Err: ErrKeyTaken}, f.enqueue1(onConflict(Refuse)))
	assert.Equal(t, Enqueued{Ref: first, Duplicate: true}, f.enqueue1(onConflict(First)), "the second enqueue decides")
	assert.Len(t, f.journal.tasks, 1)
}

// A task that waits for its first lease is replaced, whether it is in memory or only stored, and
// whether it is delayed. A task that was leased is not.
func TestAConflictReplacesATaskThatHasNotStarted(t *testing.T) {
	options := map[string]func(*NewTask){
		"ready":           func(*NewTask) {},
		"delayed":         func(n *NewTask) { n.DelayMs = 1_000 },
		"with an end":     func(n *NewTask) { n.TTLMs = 900 },
		"delayed, an end": func(n *NewTask) { n.DelayMs, n.TTLMs = 1_000, 5_000 },
	}
	for name, option := range options {
		for _, recovers := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				f := newFixture(t, Config{})
				first := f.fill("q", 1, onConflict(Replace, option))[0]
				if recovers {
					f.recover(Config{})
				}
				urgent := f.enqueue1(onConflict(Replace, func(n *NewTask) { n.Priority, n.Payload = 7, []byte("urgent") }))
				require.NoError(t, urgent.Err)
				assert.False(t, urgent.Duplicate)
				assert.NotEqual(t, first, urgent.Ref)
				d := f.lease("q")
				assert.Equal(t, "urgent", string(d.Payload))
				assert.Equal(t, Enqueued{Ref: urgent.Ref, Err: ErrKeyTaken}, f.enqueue1(onConflict(Replace)), "it has started")
				assert.Len(t, f.journal.tasks, 1)
				assert.Empty(t, f.journal.due)
				assert.Empty(t, f.journal.progress)
				assert.Empty(t, f.journal.expiries)
			})
		}
	}
}

// Replacing a task needs no room for a further task, only for what the new one is larger.
func TestAReplacementIsChargedForTheDifference(t *testing.T) {
	f, a := withQuota(t, 10)
	sized := func(n int) func(*NewTask) {
		return onConflict(Replace, func(t *NewTask) { t.Payload = make([]byte, n) })
	}
	f.fill("q", 1, sized(10))
	a.tasksMax, a.bytesMax = 1, a.bytes+5
	f.fill("q", 1, sized(15))
	assert.Equal(t, a.bytesMax, a.bytes)
	var quota *QuotaError
	require.ErrorAs(t, f.enqueue1(sized(16)).Err, &quota)
	f.fill("q", 1, sized(1))
	f.fill("q", 1, sized(15))
	assert.Equal(t, int64(1), a.tasks)
	assert.Equal(t, a.bytesMax, a.bytes)
	f.purge()
}

// A plain key, and the key of a dead task, have no task that can be replaced.
func TestAnEndedOrPlainHolderIsNotReplaced(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("q", 1, keyed)
	require.ErrorIs(t, f.enqueue1(onConflict(Replace)).Err, ErrKeyTaken)
	f.purge()
	f.fill("q", 1, uniqueKey(ForATime, func(n *NewTask) { n.TTLMs, n.KeyWindowMs = 500_000, 600_000 }))
	f.expire()
	require.ErrorIs(t, f.enqueue1(onConflict(Replace)).Err, ErrKeyTaken)
}

func TestOptionsOfAUniqueKeyAreChecked(t *testing.T) {
	for _, c := range []struct {
		key      string
		scope    Scope
		window   uint64
		conflict Conflict
		field    string
		problem  string
	}{
		{"k", ForATime, KeyWindowMsMax, Refuse, "", ""},
		{"k", UntilFinished, 0, Replace, "", ""},
		{"", UntilFinished, 0, First, "unique", "is set without idempotency_key: set both"},
		{"k", UntilFinished + 1, 0, First, "unique.scope", "is not known: use FOR_A_TIME, UNTIL_STARTED or UNTIL_FINISHED"},
		{"k", ForATime, 0, Refuse + 1, "unique.conflict", "is not known: use FIRST, REPLACE or REFUSE"},
		{"k", ForATime, KeyWindowMsMax + 1, First, "unique.window_ms", "must be 0 to 2592000000, not 2592000001"},
		{"k", UntilStarted, 1, First, "unique.window_ms", "is set with another scope than FOR_A_TIME: set one of them"},
	} {
		n := NewTask{Key: c.key}
		err := n.MakeUnique(c.scope, c.window, c.conflict)
		if c.field == "" {
			assert.Nil(t, err)
			assert.Equal(t, NewTask{Key: "k", KeyScope: c.scope, KeyWindowMs: uint32(c.window), KeyConflict: c.conflict}, n)
			continue
		}
		assert.Equal(t, &FieldError{c.field, c.problem}, err)
	}
}

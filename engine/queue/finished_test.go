package queue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// historyFixture has one queue with a history.
func historyFixture(t *testing.T, a *fakeAccount, p Policy) (*fixture, *Queue) {
	t.Helper()
	cfg := Config{finishedWindow: 8, SweepMax: 8}
	if a != nil {
		cfg.Account = func(string) Account { return a }
	}
	f := newFixture(t, cfg)
	require.NoError(t, f.Configure("t", "a", p, 1))
	q, _ := f.Named("t", "a")
	return f, q
}

// finishOne enqueues, claims and settles a task.
func (f *fixture) finishOne(w *Waiter, s Settlement, with ...func(*NewTask)) error {
	f.t.Helper()
	f.fill("a", 1, with...)
	f.Credit(w, 1)
	d := f.dispatch()[w][0]
	s.Ref, s.Token = d.Ref, d.Token
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{s}, out)
	f.Flush()
	return out[0]
}

// work runs turns at the current time until the state has no more work.
func (f *fixture) work() {
	for range 1_000 {
		f.Tick(f.now)
		f.Flush()
		refills := f.Refills()
		for _, r := range refills {
			f.journal.answer(f.State, r)
		}
		if len(refills) == 0 && f.NextDeadlineMs() > f.now {
			return
		}
	}
	f.t.Fatal("the work does not end")
}

// A history never lists more tasks than its limit or older ones, and lists all others. No turn drops
// more than a few entries with each task that finishes, and the store has soon only those that are
// listed.
func TestAHistoryIsTrimmedInBoundedSteps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f, q := historyFixture(t, nil, Policy{HistoryTasksMax: 1_000})
		w := f.wait(0, "a")
		policy, version := q.record.Policy, uint64(1)
		var finished []int64 // the times, by position
		lowered := false     // entries may be outdated that an earlier policy kept
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			before := q.record.Finished
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				f.now += rapid.Int64Range(0, 300).Draw(rt, "ms")
				f.Tick(f.now)
				f.Flush()
				if q.record.Finished.Next > 0 { // an empty history that is off begins again
					require.LessOrEqual(rt, q.record.Finished.First-before.First, uint64(f.cfg.SweepMax))
				}
			case 1:
				policy.HistoryTasksMax = rapid.Uint32Range(0, 40).Draw(rt, "max")
				policy.HistoryRetentionMs = rapid.SampledFrom([]uint64{0, 200, 2_000}).Draw(rt, "retention")
				version++
				require.NoError(rt, f.Configure("t", "a", policy, version))
				f.Flush()
				lowered = true
			case 2:
				f.work()
				lowered = false
				c, listed := q.record.Finished, q.History(f.now)
				require.Equal(rt, listed.First, c.First, "outdated entries are gone")
				require.Len(rt, f.journal.finished[q.record.ID], int(c.Next-c.First))
			default:
				require.NoError(rt, f.finishOne(w, Settlement{Action: Complete}))
				if policy.keepsHistory() {
					if q.record.Finished.Next == 1 {
						finished = nil
					}
					finished = append(finished, f.now)
					require.LessOrEqual(rt, q.record.Finished.First-before.First, uint64(finishedTrimMax))
				}
			}
			listed := q.History(f.now)
			if most := policy.historyMax(); listed.Next-listed.First > most {
				rt.Fatalf("%d tasks are listed; the limit is %d", listed.Next-listed.First, most)
			}
			for at := listed.Next; at > listed.First; at-- {
				entry, stored := f.journal.finished[q.record.ID][at-1]
				if entry.FinishedAtMs <= listed.AfterMs {
					continue
				}
				require.True(rt, stored)
				require.Equal(rt, finished[at-1], entry.FinishedAtMs)
			}
			if most := uint64(policy.HistoryTasksMax); !lowered && policy.HistoryRetentionMs == 0 && most > 0 && uint64(len(finished)) >= most && q.record.Finished.Next >= most {
				require.GreaterOrEqual(rt, listed.Next-listed.First, min(most, listed.Next-before.First), "no entry is missing")
			}
		}
	})
}

// The completion of a task always has room for its entry. The entry of a dead task needs a charge,
// and is omitted if the quota refuses it.
func TestAHistoryIsCharged(t *testing.T) {
	a := &fakeAccount{broken: t.Fatalf, tasksMax: 100, leasesMax: 100}
	f, q := historyFixture(t, a, Policy{HistoryTasksMax: 3})
	w := f.wait(0, "a")
	kind := func(n *NewTask) { n.AddHeaders(map[string]string{"kind": "welcome"}); n.MaxAttempts = 1 }
	const headers = 1 + 4 + 2 + 7
	queueBytes := QueueBytes("t", "a")
	require.NoError(t, f.finishOne(w, Settlement{Action: Complete}, kind))
	assert.Equal(t, queueBytes+FinishedBytes(headers, 0), a.bytes)
	a.bytesMax = a.bytes + TaskBytes(HeadersBytes(map[string]string{"kind": "welcome"})+1)
	require.NoError(t, f.finishOne(w, Settlement{Action: Complete}, kind))
	assert.Equal(t, queueBytes+2*FinishedBytes(headers, 0), a.bytes, "only the room of the task is left")
	a.bytesMax = 0
	require.NoError(t, f.finishOne(w, Settlement{Action: Fail, Error: strings.Repeat("é", 400)}, kind))
	last := f.journal.finished[q.record.ID][2]
	assert.Equal(t, []any{FinishDied, AttemptsUsedUp, strings.Repeat("é", 256)}, []any{last.How, last.Reason, last.LastError})
	held := a.bytes
	a.bytesMax = a.bytes + TaskBytes(HeadersBytes(map[string]string{"kind": "welcome"})+1) + AttemptBytes("oops")
	require.NoError(t, f.finishOne(w, Settlement{Action: Fail, Error: "oops"}, kind))
	assert.Equal(t, a.bytesMax, a.bytes)
	assert.EqualValues(t, 3, q.record.Finished.Next, "the entry is omitted")
	a.bytesMax = 0
	require.NoError(t, f.finishOne(w, Settlement{Action: Complete}))
	assert.Equal(t, held+TaskBytes(HeadersBytes(map[string]string{"kind": "welcome"})+1)+AttemptBytes("oops")+FinishedBytes(0, 0)-FinishedBytes(headers, 0), a.bytes, "the first entry is trimmed")
	for ref := range f.journal.dead {
		stored, _ := f.journal.look(ref)
		require.True(t, f.PurgeDead(&stored))
	}
	f.Flush()
	assert.EqualValues(t, 4, q.record.Finished.Next, "a dead task has finished before")
	require.NoError(t, f.Delete(q))
	f.Flush()
	assert.Zero(t, a.bytes)
	assert.Empty(t, f.journal.finished)
	assert.Nil(t, q.finished)
}

// A task that takes the key and the room of another one leaves the account correct, although the
// replaced task has an entry.
func TestTheEntryOfAReplacedTaskIsCharged(t *testing.T) {
	a := &fakeAccount{broken: t.Fatalf, tasksMax: 100, leasesMax: 100}
	f, q := historyFixture(t, a, Policy{HistoryTasksMax: 3})
	task := NewTask{Queue: "a", Key: "k", KeyScope: UntilFinished, KeyConflict: Replace, Payload: []byte("p")}
	out := make([]Enqueued, 2)
	f.Enqueue(f.now, "t", []NewTask{task, task}, out)
	require.NoError(t, out[1].Err)
	f.Flush()
	assert.Equal(t, QueueBytes("t", "a")+TaskBytes(1)+UniqueBytes+FinishedBytes(0, 0), a.bytes)
	assert.Equal(t, FinishCancelled, f.journal.finished[q.record.ID][0].How)
}

// A queue without a history keeps the old format of its records: nothing of a history is written.
func TestAQueueWithoutAHistoryWritesNone(t *testing.T) {
	f, q := historyFixture(t, nil, Policy{MaxAttempts: 2})
	w := f.wait(0, "a")
	require.NoError(t, f.finishOne(w, Settlement{Action: Fail}))
	require.NoError(t, f.finishOne(w, Settlement{Action: Complete}))
	assert.Empty(t, f.journal.finished)
	assert.Empty(t, f.journal.claimed)
	assert.Nil(t, q.finished)
	for _, p := range f.journal.progress {
		assert.Zero(t, p.Claims)
	}
	require.NoError(t, f.Configure("t", "a", Policy{HistoryTasksMax: 1}, 2))
	require.NoError(t, f.finishOne(w, Settlement{Action: Complete}))
	require.NoError(t, f.Configure("t", "a", Policy{}, 3))
	f.work()
	assert.Equal(t, FinishedCounts{}, f.journal.queues[q.record.ID].Finished, "the record has the old format again")
	assert.Nil(t, q.finished)
}

// A Refill that returns nothing, as on a full disk, is repeated later, and not at once.
func TestAnEmptyAnswerIsRepeatedLater(t *testing.T) {
	f, q := historyFixture(t, nil, Policy{HistoryTasksMax: 100})
	w := f.wait(0, "a")
	for range 20 {
		require.NoError(t, f.finishOne(w, Settlement{Action: Complete}))
	}
	require.NoError(t, f.Configure("t", "a", Policy{HistoryTasksMax: 1}, 2))
	for len(q.finished.window) > 0 {
		f.Tick(f.now)
	}
	refills := f.Refills()
	require.Len(t, refills, 1)
	f.RefillFinished(refills[0], nil)
	assert.Equal(t, f.now+finishedRetryMs, f.NextDeadlineMs())
	f.now += finishedRetryMs
	f.work()
	assert.Len(t, f.journal.finished[q.record.ID], 1)
}

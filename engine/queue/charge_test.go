package queue

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func (f *fixture) fail(w *Waiter, text string) error {
	f.Credit(w, 1)
	ds := f.dispatch()[w]
	require.Len(f.t, ds, 1)
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: ds[0].Ref, Token: ds[0].Token, Action: Fail, Error: text, DelayMs: 1}}, out)
	f.now++
	f.Tick(f.now)
	f.Flush()
	return out[0]
}

// The history of a task that fails repeatedly is bounded, and so is its charge. A redriven task
// keeps its history.
func TestHistoryKeepsTheLastAttempts(t *testing.T) {
	f, a := withQuota(t, 10)
	ref := f.fill("a", 1, func(n *NewTask) { n.MaxAttempts = 100 })[0]
	w := f.wait(0, "a")
	text := strings.Repeat("x", 4<<10)
	for n := 1; n <= 150; n++ {
		if n == 101 {
			stored, _ := f.journal.look(ref)
			f.redrive(&stored)
		}
		require.NoError(t, f.fail(w, text))
		history := f.journal.attempts[ref]
		require.LessOrEqual(t, len(history), AttemptsKept)
		require.GreaterOrEqual(t, len(history), min(n, AttemptsKept/2))
		for i := range len(history) {
			require.Contains(t, history, uint32(n-i), "after %d attempts", n)
		}
		require.Equal(t, QueueBytes("t", "a")+TaskBytes(1)+int64(len(history))*AttemptBytes(text), a.bytes, "after %d attempts", n)
	}
	stored, found := f.journal.look(ref)
	require.True(t, found)
	f.Cancel(&stored)
	f.Flush()
	assert.Empty(t, f.journal.attempts)
	assert.Equal(t, QueueBytes("t", "a"), a.bytes)
}

// A failure takes effect even if the quota of bytes is exhausted. Only its entry in the history is
// omitted.
func TestFailureTakesEffectAtTheQuota(t *testing.T) {
	f, a := withQuota(t, 10)
	ref := f.fill("a", 1, func(n *NewTask) { n.MaxAttempts = 3 })[0]
	w := f.wait(0, "a")
	a.bytesMax = a.bytes + AttemptBytes("short")
	require.NoError(t, f.fail(w, "too long for the remaining room"))
	assert.Empty(t, f.journal.attempts[ref])
	require.NoError(t, f.fail(w, "short"))
	assert.Equal(t, "short", f.journal.attempts[ref][2].Error)
	require.NoError(t, f.fail(w, "once more"))
	assert.Contains(t, f.journal.dead, ref, "all attempts are used")
	assert.Len(t, f.journal.attempts[ref], 1)
}

// A result may use the room of its task. The quota refuses a larger result before the task is
// completed.
func TestResultBeyondTheQuotaIsRefusedBeforeTheCompletion(t *testing.T) {
	f, a := withQuota(t, 10)
	f.fill("a", 1, func(n *NewTask) { n.RetentionMs, n.Payload = 1_000, []byte("payload") })
	w := f.wait(1, "a")
	d := f.dispatch()[w][0]
	a.bytesMax = a.bytes
	complete := func(result []byte) error {
		out := make([]error, 1)
		f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Complete, Result: result}}, out)
		f.Flush()
		return out[0]
	}
	room := int(TaskBytes(len("payload")) - ResultBytes(0))
	var quota *QuotaError
	require.ErrorAs(t, complete(make([]byte, room+1)), &quota)
	assert.Equal(t, "bytes_max", quota.Quota)
	_, leased := f.FindLease(d.Ref)
	require.True(t, leased, "the worker may complete it without a result")
	require.Empty(t, f.journal.results)

	require.NoError(t, complete(make([]byte, room)))
	assert.Len(t, f.journal.results, 1)
	assert.Equal(t, a.bytesMax, a.bytes, "the result takes the room of the task")
	f.now += 2 * resultBucketMs
	f.Tick(f.now)
	assert.Equal(t, QueueBytes("t", "a"), a.bytes, "the bucket is dropped")
	assert.Empty(t, f.journal.sums)
}

// If a commit changes a sum and drops its bucket, the sum is not stored.
func TestASumGoesWithItsBucket(t *testing.T) {
	f, a := withQuota(t, 10)
	f.fill("a", 1, func(n *NewTask) { n.RetentionMs = 1_000 })
	w := f.wait(1, "a")
	d := f.dispatch()[w][0]
	f.Flush()
	out := make([]error, 1)
	f.Settle(f.now, "t", []Settlement{{Ref: d.Ref, Token: d.Token, Action: Complete, Result: []byte("result")}}, out)
	require.NoError(t, out[0])
	f.now += 2 * resultBucketMs
	f.Tick(f.now)
	f.Flush()
	assert.Empty(t, f.journal.sums)
	assert.Equal(t, QueueBytes("t", "a"), a.bytes)
}

// The room that one settlement of a call frees is available for the result of the next.
func TestResultsUseWhatTheSameCallFrees(t *testing.T) {
	f, a := withQuota(t, 10)
	f.fill("a", 1, func(n *NewTask) { n.Payload = make([]byte, 500) })
	f.fill("a", 1, func(n *NewTask) { n.RetentionMs = 1_000 })
	w := f.wait(2, "a")
	ds := f.dispatch()[w]
	a.bytesMax = a.bytes
	out := make([]error, 2)
	f.Settle(f.now, "t", []Settlement{
		{Ref: ds[0].Ref, Token: ds[0].Token, Action: Complete},
		{Ref: ds[1].Ref, Token: ds[1].Token, Action: Complete, Result: make([]byte, 400)},
	}, out)
	assert.Equal(t, []error{nil, nil}, out)
}

// Keys and queues count against the quota: a tenant without room can store neither.
func TestKeysAndQueuesNeedRoom(t *testing.T) {
	f, a := withQuota(t, 10)
	enqueue := func(queue, key string) error {
		out := make([]Enqueued, 1)
		f.Enqueue(f.now, "t", []NewTask{{Queue: queue, Key: key}}, out)
		f.Flush()
		return out[0].Err
	}
	var quota *QuotaError
	a.bytesMax = QueueBytes("t", "a") - 1
	require.ErrorAs(t, enqueue("a", ""), &quota)
	require.ErrorAs(t, f.Configure("t", "a", Policy{}, 1), &quota)
	require.Empty(t, f.journal.queues)
	a.bytesMax = QueueBytes("t", "a") + TaskBytes(0) + KeyBytes(3) - 1
	require.ErrorAs(t, enqueue("a", "key"), &quota)
	require.Empty(t, f.journal.keys)
	require.NoError(t, enqueue("a", "ke"))
	assert.Equal(t, a.bytesMax, a.bytes)
}

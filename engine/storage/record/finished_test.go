package record

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

func drawFinished(t *rapid.T, ref queue.Ref) queue.Finished {
	f := queue.Finished{
		Ref: ref, How: queue.Finish(rapid.Uint8Range(1, uint8(queue.FinishPurged)).Draw(t, "how")), Reason: queue.Reason(rapid.Uint8().Draw(t, "reason")),
		PriorityShift: int8(rapid.Uint8Range(0, queue.MaxPriority).Draw(t, "priority")) - int8(ref.Priority), Attempts: rapid.Uint32().Draw(t, "attempts"),
		EnqueuedAtMs: drawMs.Draw(t, "enqueued"), FinishedAtMs: drawMs.Draw(t, "finished"), LastError: drawText.Draw(t, "error"),
		Claims: queue.Claims{FirstMs: drawMs.Draw(t, "first claim"), LastMs: drawMs.Draw(t, "last claim")},
	}
	if rapid.Bool().Draw(t, "with headers") {
		f.Headers = queue.Headers(withHeaders(nil)[2:])
	}
	return f
}

// The bytes of format 9 never change, because later servers read them.
func TestBytesOfFinishedTasks(t *testing.T) {
	var e Encoder
	bytes := func() string { return hex.EncodeToString(e.Bytes()) }
	f := queue.Finished{
		Ref: queue.Ref{Queue: 7, Priority: 3, Seq: 300}, PriorityShift: -3, How: queue.FinishDied, Reason: queue.AttemptsUsedUp, Attempts: 2,
		EnqueuedAtMs: 1_000, FinishedAtMs: 3_000, Claims: queue.Claims{FirstMs: 1_500, LastMs: 2_000}, Headers: withHeaders(nil)[2:], LastError: "oops",
	}
	EncodeFinished(&e, &f)
	assert.Equal(t, "0903ac02050201"+"02f02ed00fb817a01f"+"16046b696e64000777656c636f6d6505747261636500"+"00"+"046f6f7073", bytes())
	assert.Equal(t, "6f000000070000000000000100", hex.EncodeToString(FinishedKey(7, 256)))
	EncodeLease(&e, []queue.LeaseRef{{Ref: queue.Ref{Queue: 1, Seq: 2}, Attempt: 1}}, 1_500)
	assert.Equal(t, "0901020004010000000000"+"00b817", bytes())
	EncodeProgress(&e, queue.Progress{Attempts: 1, Claims: f.Claims})
	assert.Equal(t, "09000100000000000000"+"b817a01f", bytes())
	EncodeQueue(&e, &queue.Record{
		Tenant: "t", Name: "q", PolicyVersion: 1, Policy: queue.Policy{HistoryTasksMax: 100, HistoryRetentionMs: 5}, Finished: queue.FinishedCounts{First: 1, Next: 3, Bytes: 300},
	})
	assert.Equal(t, "090174017100000000000000000001000000000000000000006405000000"+"0103ac02", bytes())
}

// Only the records of a queue with a history, and of its tasks, need a server that knows histories.
func TestOnlyRecordsOfAHistoryHaveItsFormat(t *testing.T) {
	var e Encoder
	EncodeQueue(&e, &queue.Record{PolicyVersion: 1, Policy: queue.Policy{RetentionMs: 5}})
	assert.EqualValues(t, Format, e.Bytes()[0])
	EncodeQueue(&e, &queue.Record{PolicyVersion: 1, Policy: queue.Policy{KeyWindowMs: 5}})
	assert.EqualValues(t, formatUnique, e.Bytes()[0])
	for _, r := range []queue.Record{{Finished: queue.FinishedCounts{Next: 1}}, {PolicyVersion: 1, Policy: queue.Policy{HistoryTasksMax: 1}}, {PolicyVersion: 1, Policy: queue.Policy{HistoryRetentionMs: 1}}} {
		EncodeQueue(&e, &r)
		assert.EqualValues(t, formatHistory, e.Bytes()[0])
		got, err := DecodeQueue(0, e.Bytes())
		require.NoError(t, err)
		assert.Equal(t, r, got)
	}
	EncodeQueue(&e, &queue.Record{Finished: queue.FinishedCounts{First: 2, Next: 1}})
	_, err := DecodeQueue(0, e.Bytes())
	require.ErrorContains(t, err, "a history from 2 to 1 is out of range")
	EncodeLease(&e, nil, 0)
	assert.EqualValues(t, Format, e.Bytes()[0])
}

func TestDamagedFinishedTasksAreRefused(t *testing.T) {
	var e Encoder
	for want, f := range map[string]queue.Finished{
		"a priority that is changed by 10 is out of range": {PriorityShift: queue.MaxPriority + 1},
		"the headers are damaged":                          {Headers: queue.Headers{9, 'k'}},
		"headers of 5000 bytes are out of range":           {Headers: make([]byte, 5_000)},
	} {
		EncodeFinished(&e, &f)
		_, err := DecodeFinished(0, e.Bytes())
		require.ErrorContains(t, err, want)
	}
	_, _, err := ParseFinishedKey([]byte("o1234"))
	require.ErrorContains(t, err, "expected 13")
}

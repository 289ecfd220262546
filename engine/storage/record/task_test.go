package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/fields"
	"github.com/pronybench/prony/engine/queue"
)

// A task without headers has the bytes of format 3, and headers cost nothing but their own bytes.
func TestOnlyTasksWithHeadersHaveTheirFormat(t *testing.T) {
	var e Encoder
	EncodeTask(&e, queue.Task{EnqueuedAtMs: 1, MaxAttempts: 2, LeaseMs: 3, Payload: []byte("p")})
	require.Equal(t, []byte{3, 2, 2, 3, 0, 0, 'p'}, e.Bytes())
	EncodeTask(&e, queue.Task{EnqueuedAtMs: 1, MaxAttempts: 2, LeaseMs: 3, HasHeaders: true, Payload: withHeaders([]byte("p"))})
	require.Equal(t, append([]byte{5, 2, 2, 3, 0, 0}, withHeaders([]byte("p"))...), e.Bytes())
	require.ErrorContains(t, fields.NewSince(e.Bytes(), 2, 4).Err, "record has format 5, this server reads formats 2 to 4: use the server that wrote it, or a newer one")
}

// Only the records that have a unique key or a key window are in format 7.
func TestOnlyUniqueKeysHaveTheirFormat(t *testing.T) {
	var e Encoder
	for format, u := range map[byte]*queue.Unique{Format: nil, formatUnique: {Key: queue.HashKey("k"), Scope: queue.UntilFinished, Bucket: queue.Unlimited}} {
		extras := queue.NewExtras(queue.Extras{Unique: u}, queue.Common{RetentionMs: 1})
		EncodeTask(&e, queue.Task{Extras: extras})
		assert.Equal(t, format, e.Bytes()[0])
		EncodeDue(&e, queue.Due{Extras: extras})
		assert.Equal(t, format, e.Bytes()[0])
		EncodeLease(&e, []queue.LeaseRef{{Extras: extras}, {}}, 0)
		assert.Equal(t, format, e.Bytes()[0])
	}
	r := queue.Record{PolicyVersion: 1}
	EncodeQueue(&e, &r)
	assert.Equal(t, byte(Format), e.Bytes()[0])
	r.Policy.KeyWindowMs = 1
	EncodeQueue(&e, &r)
	e.MarkYoung()
	assert.Equal(t, byte(formatUnique), e.Bytes()[0])
	require.ErrorContains(t, fields.NewSince(e.Bytes(), 2, 6).Err, "record has format 7, this server reads formats 2 to 6: use the server that wrote it, or a newer one")
}

// Only the records of tasks with a group, and of queues with limits or holes, are in format 10.
func TestOnlyGroupsAndLimitsHaveTheirFormat(t *testing.T) {
	var e Encoder
	u := &queue.Unique{Key: queue.HashKey("k"), Scope: queue.UntilFinished, Bucket: queue.Unlimited}
	for format, group := range map[byte]uint64{formatUnique: 0, formatLimits: 9} {
		EncodeTask(&e, queue.Task{Extras: &queue.Extras{Unique: u, Group: group}, HasHeaders: true, Payload: withHeaders(nil)})
		assert.Equal(t, format, e.Bytes()[0])
		EncodeDue(&e, queue.Due{Extras: &queue.Extras{Group: group, Unique: u}})
		assert.Equal(t, format, e.Bytes()[0])
		EncodeLease(&e, []queue.LeaseRef{{Extras: &queue.Extras{Group: group, Unique: u}}, {Extras: &queue.Extras{Unique: u}}, {}}, 0)
		assert.Equal(t, format, e.Bytes()[0])
	}
	due := queue.Due{Extras: &queue.Extras{Group: 1}, PriorityShift: -1, NoteBytes: 7}
	EncodeDue(&e, due)
	got, err := DecodeDue(e.Bytes(), 0)
	require.NoError(t, err)
	assert.Equal(t, due, got)
	for format, r := range map[byte]queue.Record{
		Format:       {PolicyVersion: 1},
		formatUnique: {PolicyVersion: 1, Policy: queue.Policy{KeyWindowMs: 1}},
		formatLimits: {PolicyVersion: 1, Policy: queue.Policy{GroupLimit: queue.Limit{LeasedMax: 2}}},
	} {
		EncodeQueue(&e, &r)
		assert.Equal(t, format, e.Bytes()[0])
	}
	EncodeQueue(&e, &queue.Record{Holes: true})
	e.MarkYoung()
	assert.EqualValues(t, formatLimits, e.Bytes()[0])
}

// A group costs nine bytes of a record, unless the task has other extras too.
func TestAGroupIsStoredInNineBytes(t *testing.T) {
	due := queue.Due{Extras: &queue.Extras{Group: 0x0102030405060708}}
	var e Encoder
	EncodeDue(&e, due)
	require.Equal(t, []byte{10, 0, 0, 0, 0, 5, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}, e.Bytes())
	for _, stored := range [][]byte{
		e.Bytes(),
		{10, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0},
	} {
		got, err := DecodeDue(stored, 0)
		require.NoError(t, err)
		require.Equal(t, due, got)
	}
}

func TestDamagedHeadersOfATaskAreRefused(t *testing.T) {
	var e Encoder
	EncodeTask(&e, queue.Task{HasHeaders: true, Payload: withHeaders(nil)})
	for cut := 6; cut < len(e.Bytes()); cut++ {
		_, _, err := DecodeTaskHead(e.Bytes()[:cut])
		require.ErrorContains(t, err, "the headers are damaged", "%d bytes", cut)
	}
}

func FuzzDecodeUnique(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeUnique(e, queue.UniqueRef{Ref: queue.Ref{Queue: 3, Priority: 2, Seq: 300}, Bucket: 5})
	})
	fuzz(f, func(b []byte) (queue.UniqueRef, error) { return DecodeUnique(5, 3, b) }, EncodeUnique)
}

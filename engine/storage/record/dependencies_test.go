package record

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

func drawID(t *rapid.T) queue.ID {
	return queue.ID{Shard: rapid.Uint16().Draw(t, "shard"), Ref: drawRef(t)}
}

func drawMessage(t *rapid.T) queue.Message {
	m := queue.Message{
		Seq: rapid.Uint64().Draw(t, "seq"), Kind: queue.MessageKind(rapid.Uint8Range(1, uint8(queue.DroppedTask)).Draw(t, "kind")), Ref: drawRef(t),
		Tenant: drawText.Draw(t, "tenant"), Of: drawID(t), Begun: rapid.Bool().Draw(t, "begun"), Omitted: rapid.Bool().Draw(t, "omitted"),
		Outcome: queue.DependencyOutcome(rapid.Uint8Range(0, uint8(queue.DependencyRefused)).Draw(t, "outcome")),
	}
	if result := rapid.SliceOf(rapid.Byte()).Draw(t, "result"); len(result) > 0 {
		m.Result = result
	}
	return m
}

func TestRecordsOfDependenciesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e Encoder
		m := drawMessage(t)
		EncodeMessage(&e, &m)
		got, err := DecodeMessage(e.Bytes())
		require.NoError(t, err)
		require.Equal(t, m, got)
		d := queue.Dependency{ID: m.Of, Outcome: m.Outcome, Omitted: m.Omitted, Result: m.Result}
		EncodeDependency(&e, &d)
		dependency, err := DecodeDependency(m.Of, e.Bytes())
		require.NoError(t, err)
		require.Equal(t, d, dependency)
		n := rapid.Uint32()
		w := queue.Waiting{
			After: n.Draw(t, "after"), Members: n.Draw(t, "members"), Total: n.Draw(t, "total"), Recorded: n.Draw(t, "recorded"),
			Dead: queue.DeadDependency(rapid.Uint8Range(0, uint8(queue.DieToo)).Draw(t, "policy")), Bytes: m.Seq,
		}
		EncodeWaiting(&e, w)
		waiting, err := DecodeWaiting(e.Bytes())
		require.NoError(t, err)
		require.Equal(t, w, waiting)
		ref, of, pair, err := ParsePairKey(PairKey(PrefixLink, m.Ref, m.Of))
		require.NoError(t, err)
		require.True(t, pair)
		require.Equal(t, m.Ref, ref)
		require.Equal(t, m.Of, of)
		to, seq, err := ParseMessageKey(MessageKey(m.Of.Shard, m.Seq))
		require.NoError(t, err)
		require.Equal(t, m.Of.Shard, to)
		require.Equal(t, m.Seq, seq)
	})
}

// The bytes of format 11 never change, because later servers read them, and nodes send them to each
// other.
func TestBytesOfDependencies(t *testing.T) {
	var e Encoder
	bytes := func() string { return hex.EncodeToString(e.Bytes()) }
	id := queue.ID{Shard: 1, Ref: queue.Ref{Queue: 2, Priority: 3, Seq: 4}}
	const idBytes = "0001" + "00000002" + "03" + "0000000000000004"
	EncodeMessage(&e, &queue.Message{Seq: 300, Kind: queue.DependencyFinished, Ref: queue.Ref{Queue: 7, Priority: 1, Seq: 9}, Tenant: "t", Of: id, Outcome: queue.DependencyDone, Result: []byte("r")})
	assert.Equal(t, "0b"+"ac02"+"02"+"07"+"01"+"09"+"0174"+idBytes+"00"+"01"+"00"+"72", bytes())
	EncodeWaiting(&e, queue.Waiting{After: 1, Members: 2, Total: 5, Recorded: 3, Dead: queue.DieToo, Bytes: 300})
	assert.Equal(t, "0b0102050302ac02", bytes())
	EncodeDependency(&e, &queue.Dependency{Outcome: queue.DependencyDone, Omitted: true, Result: []byte("r")})
	assert.Equal(t, "0b010172", bytes())
	EncodeLinked(&e, 300)
	assert.Equal(t, "0bac02", bytes())
	EncodeLink(&e)
	assert.Equal(t, "0b", bytes())
	assert.Equal(t, "77"+"00000007"+"01"+"0000000000000009"+idBytes, hex.EncodeToString(PairKey(PrefixLink, queue.Ref{Queue: 7, Priority: 1, Seq: 9}, id)))
	assert.Equal(t, "670001000000000000012c", hex.EncodeToString(MessageKey(1, 300)))
	member := &queue.Extras{Depends: &queue.Depends{InBatch: true, Batch: id}}
	EncodeTask(&e, queue.Task{EnqueuedAtMs: 1, Extras: member})
	assert.Equal(t, "0b"+"02"+"00"+"00"+"00"+"06"+"00000000"+"00"+"00"+"02"+idBytes, bytes())
	EncodeUnique(&e, queue.UniqueRef{Depends: &queue.Depends{Waits: true}})
	assert.Equal(t, "0b"+"00"+"00"+"00"+"00"+"00"+"00"+"00"+"00"+"01", bytes())
	EncodeQueue(&e, &queue.Record{Tenant: "t", Name: "q", Dependencies: queue.DependencyCounts{Waiting: 1, Linked: 2, Bytes: 300}})
	assert.Equal(t, "0b"+"0174"+"0171"+"00"+"0000000000000000"+"00"+"00"+"00"+"00"+"000000"+"00"+"0102ac02", bytes())
}

// Extras with dependencies have format 11 in every record, together with all other extras.
func TestExtrasWithDependencies(t *testing.T) {
	var e Encoder
	depends := &queue.Depends{Waits: true, InBatch: true, Batch: queue.ID{Shard: 9, Ref: queue.Ref{Queue: 1, Priority: 2, Seq: 3}}}
	unique := &queue.Unique{Scope: queue.ForATime, Bucket: 7}
	for _, x := range []*queue.Extras{
		{Depends: depends}, {Depends: depends, Unique: unique}, {Depends: depends, Group: 5}, {Depends: depends, Unique: unique, Group: 5},
	} {
		task := queue.Task{Extras: x, HasHeaders: true, Payload: withHeaders(nil)}
		EncodeTask(&e, task)
		assert.EqualValues(t, formatDepends, e.Bytes()[0])
		got, err := DecodeTask(e.Bytes())
		require.NoError(t, err)
		assert.Equal(t, task, got)
		due := queue.Due{Extras: x, NoteBytes: 7, PriorityShift: -1}
		EncodeDue(&e, due)
		decoded, err := DecodeDue(e.Bytes(), 0)
		require.NoError(t, err)
		assert.Equal(t, due, decoded)
		EncodeLease(&e, []queue.LeaseRef{{Extras: x, Attempt: 1}, {Extras: &queue.Extras{Group: 8}}, {Extras: &queue.Extras{Unique: unique}}}, 0)
		assert.EqualValues(t, formatDepends, e.Bytes()[0])
		l, err := DecodeLease(e.Bytes())
		require.NoError(t, err)
		assert.Equal(t, x, l.Refs[0].Extras)
		assert.EqualValues(t, 8, l.Refs[1].Extras.Group)
	}
	k := queue.UniqueRef{Depends: depends, PriorityShift: -2}
	EncodeUnique(&e, k)
	got, err := DecodeUnique(0, 0, e.Bytes())
	require.NoError(t, err)
	assert.Equal(t, k, got)
	r := queue.Record{PolicyVersion: 1, Policy: queue.Policy{GroupLimit: queue.Limit{LeasedMax: 2}, HistoryTasksMax: 1}, Holes: true, Dependencies: queue.DependencyCounts{Bytes: 1}}
	EncodeQueue(&e, &r)
	stored, err := DecodeQueue(0, e.Bytes())
	require.NoError(t, err)
	assert.Equal(t, r, stored)
}

func TestDamagedDependenciesAreRefused(t *testing.T) {
	var e Encoder
	EncodeMessage(&e, &queue.Message{})
	_, err := DecodeMessage(e.Bytes())
	require.ErrorContains(t, err, "kind 0")
	EncodeMessage(&e, &queue.Message{Kind: queue.Link, Of: queue.ID{Ref: queue.Ref{Priority: 77}}})
	_, err = DecodeMessage(e.Bytes())
	require.ErrorContains(t, err, "priority 77 is out of range")
	_, _, _, err = ParsePairKey([]byte("w1234"))
	require.ErrorContains(t, err, "expected 14 or 29")
	_, _, err = ParseMessageKey([]byte("g1234"))
	require.ErrorContains(t, err, "expected 11")
}

func FuzzDecodeMessage(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeMessage(e, &queue.Message{Seq: 3, Kind: queue.Link, Tenant: "t", Of: queue.ID{Shard: 1}, Result: []byte("r")})
	})
	fuzz(f, DecodeMessage, func(e *Encoder, m queue.Message) { EncodeMessage(e, &m) })
}

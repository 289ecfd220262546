package record

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/fields"
	"github.com/pronybench/prony/engine/queue"
)

var (
	drawMs   = rapid.Int64()
	drawText = rapid.StringN(0, 40, 80)
)

func drawRef(t *rapid.T) queue.Ref {
	return queue.Ref{
		Queue:    rapid.Uint32().Draw(t, "queue"),
		Priority: rapid.Uint8Range(0, queue.MaxPriority).Draw(t, "priority"),
		Seq:      rapid.Uint64().Draw(t, "seq"),
	}
}

func drawBackoff(t *rapid.T) queue.Backoff {
	return queue.Backoff{
		InitialMs: rapid.Uint64().Draw(t, "initial"), MaxMs: rapid.Uint64().Draw(t, "max"),
		MultiplierPercent: rapid.Uint32().Draw(t, "multiplier"), JitterPercent: rapid.Uint32().Draw(t, "jitter"),
	}
}

func drawExtras(t *rapid.T) *queue.Extras {
	if rapid.Bool().Draw(t, "plain") {
		return nil
	}
	x := queue.Extras{ExpiresAtMs: drawMs.Draw(t, "expires")}
	if rapid.Bool().Draw(t, "unique") {
		scopes := []queue.Scope{queue.ForATime, queue.UntilStarted, queue.UntilFinished}
		x.Unique = &queue.Unique{Key: drawHash(t), Scope: rapid.SampledFrom(scopes).Draw(t, "scope"), Bucket: drawMs.Draw(t, "bucket")}
	}
	x.Group = rapid.SampledFrom([]uint64{0, 1, math.MaxUint64}).Draw(t, "group")
	var c queue.Common
	if rapid.Bool().Draw(t, "common") {
		c = queue.Common{Backoff: drawBackoff(t), RetentionMs: rapid.Uint64().Draw(t, "retention")}
	}
	return queue.NewExtras(x, c)
}

func drawLimit(t *rapid.T) queue.Limit {
	if rapid.Bool().Draw(t, "no limit") {
		return queue.Limit{}
	}
	return queue.Limit{LeasedMax: rapid.Uint32().Draw(t, "leased max"), RateMilli: rapid.Uint64().Draw(t, "rate"), Burst: rapid.Uint32().Draw(t, "burst")}
}

func drawHash(t *rapid.T) queue.KeyHash {
	return queue.HashKey(drawText.Draw(t, "key"))
}

func drawHistory(t *rapid.T) queue.History {
	return queue.History{NewestBytes: rapid.Uint32Range(0, 300).Draw(t, "newest"), BeforeBytes: rapid.Uint32Range(0, 1).Draw(t, "before")}
}

func withHeaders(payload []byte) []byte {
	n := queue.NewTask{Payload: payload}
	n.AddHeaders(map[string]string{"kind": "welcome", "trace": ""})
	return n.Payload
}

// record is one kind of record, with functions that draw one and read it back.
type record struct {
	name string
	// draw encodes a drawn value and returns the expected result of read.
	draw func(t *rapid.T, e *Encoder) any
	read func(b []byte) (any, error)
	// open marks a record that ends with any number of bytes, so that neither truncation nor excess
	// is always detected.
	open bool
	// header returns the offset of these bytes.
	header func(b []byte) (int, error)
}

var records = []record{
	{
		name: "task",
		draw: func(t *rapid.T, e *Encoder) any {
			task := queue.Task{
				EnqueuedAtMs: drawMs.Draw(t, "enqueued"), MaxAttempts: rapid.Uint32().Draw(t, "attempts"),
				LeaseMs: rapid.Uint64().Draw(t, "lease"), Delayed: rapid.Bool().Draw(t, "delayed"), Extras: drawExtras(t),
			}
			if p := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload"); len(p) > 0 {
				task.Payload = p
			}
			if rapid.Bool().Draw(t, "with headers") {
				task.Payload, task.HasHeaders = withHeaders(task.Payload), true
			}
			EncodeTask(e, task)
			return task
		},
		read: func(b []byte) (any, error) { return DecodeTask(b) },
		open: true,
		header: func(b []byte) (int, error) {
			task, err := DecodeTask(b)
			return len(b) - len(task.Payload), err
		},
	},
	{
		name: "due",
		draw: func(t *rapid.T, e *Encoder) any {
			due := queue.Due{
				DueAtMs: 77, Attempts: rapid.Uint32().Draw(t, "attempts"),
				MaxAttempts: rapid.Uint32().Draw(t, "most"), LeaseMs: rapid.Uint64().Draw(t, "lease"),
				Bytes: rapid.Uint32().Draw(t, "bytes"), Extras: drawExtras(t), NoteBytes: rapid.Uint16Range(0, queue.NoteBytesMax).Draw(t, "note"),
				PriorityShift: rapid.Int8Range(-queue.MaxPriority, queue.MaxPriority).Draw(t, "shift"),
			}
			EncodeDue(e, due)
			return due
		},
		read: func(b []byte) (any, error) { return DecodeDue(b, 77) },
	},
	{
		name: "progress",
		draw: func(t *rapid.T, e *Encoder) any {
			p := queue.Progress{
				DueAtMs: drawMs.Draw(t, "due"), Attempts: rapid.Uint32().Draw(t, "attempts"),
				MaxAttempts: rapid.Uint32().Draw(t, "most"), Token: rapid.Uint64().Draw(t, "token"), ExpiresAtMs: drawMs.Draw(t, "expires"),
				History: drawHistory(t), NoteBytes: rapid.Uint16Range(0, queue.NoteBytesMax).Draw(t, "note"),
				PriorityShift: rapid.Int8Range(-queue.MaxPriority, queue.MaxPriority).Draw(t, "shift"),
			}
			if rapid.Bool().Draw(t, "with claims") {
				p.Claims = queue.Claims{FirstMs: drawMs.Draw(t, "first claim"), LastMs: drawMs.Draw(t, "last claim")}
			}
			EncodeProgress(e, p)
			return p
		},
		read: func(b []byte) (any, error) { return DecodeProgress(b) },
	},
	{
		name: "dead",
		draw: func(t *rapid.T, e *Encoder) any {
			d := queue.Dead{DiedAtMs: drawMs.Draw(t, "died"), Reason: queue.Reason(rapid.Uint8().Draw(t, "reason"))}
			EncodeDead(e, d)
			return d
		},
		read: func(b []byte) (any, error) { return DecodeDead(b) },
	},
	{
		name: "attempt",
		draw: func(t *rapid.T, e *Encoder) any {
			a := queue.Attempt{
				EndedAtMs: drawMs.Draw(t, "ended"), Outcome: queue.Outcome(rapid.Uint8().Draw(t, "outcome")), Error: drawText.Draw(t, "error"),
			}
			EncodeAttempt(e, a)
			return a
		},
		read: func(b []byte) (any, error) { return DecodeAttempt(b) },
	},
	{
		name: "key",
		draw: func(t *rapid.T, e *Encoder) any {
			k := queue.KeyRef{Ref: drawRef(t), ExpiresAtMs: drawMs.Draw(t, "expires")}
			EncodeKey(e, k)
			return k
		},
		read: func(b []byte) (any, error) { return DecodeKey(b) },
	},
	{
		name: "unique key",
		draw: func(t *rapid.T, e *Encoder) any {
			k := queue.UniqueRef{
				Ref: drawRef(t), Bucket: 5, ExpiresAtMs: drawMs.Draw(t, "expires"), Started: rapid.Bool().Draw(t, "started"),
				Bytes: rapid.Uint32().Draw(t, "bytes"), DueAtMs: drawMs.Draw(t, "due"), EndsAtMs: drawMs.Draw(t, "ends"),
				PriorityShift: rapid.Int8Range(-queue.MaxPriority, queue.MaxPriority).Draw(t, "shift"),
			}
			k.Ref.Queue = 9
			EncodeUnique(e, k)
			return k
		},
		read: func(b []byte) (any, error) { return DecodeUnique(5, 9, b) },
	},
	{
		name: "result",
		draw: func(t *rapid.T, e *Encoder) any {
			r := queue.Result{CompletedAtMs: drawMs.Draw(t, "completed"), RetainedUntilMs: drawMs.Draw(t, "until")}
			if v := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value"); len(v) > 0 {
				r.Value = v
			}
			EncodeResult(e, r)
			return r
		},
		read: func(b []byte) (any, error) { return DecodeResult(b) },
		open: true,
		header: func(b []byte) (int, error) {
			r, err := DecodeResult(b)
			return len(b) - len(r.Value), err
		},
	},
	{
		name: "lease",
		draw: func(t *rapid.T, e *Encoder) any {
			refs := make([]queue.LeaseRef, rapid.IntRange(0, 6).Draw(t, "n"))
			for i := range refs {
				refs[i] = queue.LeaseRef{
					Ref: drawRef(t), Attempt: rapid.Uint32().Draw(t, "attempt"), MaxAttempts: rapid.Uint32().Draw(t, "most"),
					LeaseMs: rapid.Uint64().Draw(t, "lease"), ExpiresAtMs: drawMs.Draw(t, "expires"),
					HasProgress: rapid.Bool().Draw(t, "progress"), Bytes: rapid.Uint32().Draw(t, "bytes"), Extras: drawExtras(t),
				}
			}
			claimedMs := rapid.Int64Range(0, math.MaxInt64).Draw(t, "claimed")
			EncodeLease(e, refs, claimedMs)
			return queue.RecoveredLease{Refs: refs, ClaimedMs: claimedMs}
		},
		read: func(b []byte) (any, error) { return DecodeLease(b) },
	},
	{
		name: "extension",
		draw: func(t *rapid.T, e *Encoder) any {
			untilMs := drawMs.Draw(t, "until")
			EncodeExtension(e, untilMs)
			return untilMs
		},
		read: func(b []byte) (any, error) { return DecodeExtension(b) },
	},
	{
		name: "queue",
		draw: func(t *rapid.T, e *Encoder) any {
			n := func(name string) uint64 { return rapid.Uint64().Draw(t, name) }
			r := queue.Record{
				ID: 9, Tenant: drawText.Draw(t, "tenant"), Name: drawText.Draw(t, "name"), NextSeq: n("next"),
				Counts: queue.Counts{
					Enqueued: n("enqueued"), Completed: n("completed"), Removed: n("removed"), Fresh: n("fresh"),
					Returned: n("returned"), Leased: n("leased"), Dead: n("dead"), Bytes: n("bytes"), HistoryBytes: n("history"),
				},
				Paused: rapid.Bool().Draw(t, "paused"),
				Lanes:  rapid.Uint32Range(0, 1<<queue.Lanes-1).Draw(t, "lanes"),
				Holes:  rapid.Bool().Draw(t, "holes"),
			}
			for p := range r.Cursors {
				if r.Lanes&(1<<p) != 0 {
					r.Cursors[p] = n("cursor")
				}
			}
			if r.PolicyVersion = n("version"); r.PolicyVersion > 0 {
				r.Policy = queue.Policy{
					Placement: queue.Placement(rapid.Uint8().Draw(t, "placement")), MaxAttempts: rapid.Uint32().Draw(t, "attempts"),
					LeaseMs: n("lease"), Backoff: drawBackoff(t), TTLMs: n("ttl"), RetentionMs: n("retention"),
					KeyWindowMs:        rapid.SampledFrom([]uint64{0, 1, math.MaxUint64}).Draw(t, "key window"),
					HistoryTasksMax:    rapid.SampledFrom([]uint32{0, 1, math.MaxUint32}).Draw(t, "history max"),
					HistoryRetentionMs: rapid.SampledFrom([]uint64{0, 1, math.MaxUint64}).Draw(t, "history retention"),
					Limit:              drawLimit(t), GroupLimit: drawLimit(t),
				}
			}
			if rapid.Bool().Draw(t, "with a history") {
				r.Finished = queue.FinishedCounts{First: rapid.Uint64Range(0, 9).Draw(t, "first"), Next: max(9, n("next position")), Bytes: n("bytes of the history")}
			}
			if r.Counts.Returned > 0 {
				r.Due = new([queue.Lanes]queue.DueCount)
			}
			for i := range queue.Lanes {
				if r.Due != nil && r.Lanes&(1<<i) != 0 {
					r.Due[i] = queue.DueCount{Tasks: n("due"), BeforeMs: drawMs.Draw(t, "before"), BeforeSeq: n("before seq")}
				}
			}
			EncodeQueue(e, &r)
			return r
		},
		read: func(b []byte) (any, error) { return DecodeQueue(9, b) },
	},
	{
		name: "finished",
		draw: func(t *rapid.T, e *Encoder) any {
			f := drawFinished(t, drawRef(t))
			EncodeFinished(e, &f)
			f.Ref.Queue = 9
			return f
		},
		read: func(b []byte) (any, error) { return DecodeFinished(9, b) },
	},
	{
		name: "sum",
		draw: func(t *rapid.T, e *Encoder) any {
			s := queue.Sum{Kind: queue.KeptResults, Bucket: 5, Tenant: "t", Bytes: rapid.Int64().Draw(t, "bytes")}
			EncodeSum(e, s)
			return s
		},
		read: func(b []byte) (any, error) {
			return DecodeSum(SumKey(queue.Sum{Kind: queue.KeptResults, Bucket: 5, Tenant: "t"}), b)
		},
	},
	{
		name: "meta",
		draw: func(t *rapid.T, e *Encoder) any {
			m := queue.Meta{NextBatch: rapid.Uint64().Draw(t, "batch"), NextQueue: rapid.Uint32().Draw(t, "queue")}
			EncodeMeta(e, m)
			return m
		},
		read: func(b []byte) (any, error) { return DecodeMeta(b) },
	},
	{
		name: "reserved",
		draw: func(t *rapid.T, e *Encoder) any {
			r := queue.Reserved{Batch: rapid.Uint64().Draw(t, "batch"), Queue: rapid.Uint32().Draw(t, "queue"), Seq: rapid.Uint64().Draw(t, "seq")}
			EncodeReserved(e, r)
			return r
		},
		read: func(b []byte) (any, error) { return DecodeReserved(b) },
	},
}

func TestRecordsComeBackFromTheirBytes(t *testing.T) {
	for _, r := range records {
		t.Run(r.name, func(t *testing.T) {
			e := Encoder{b: []byte("left over from the record before")}
			rapid.Check(t, func(t *rapid.T) {
				want := r.draw(t, &e)
				got, err := r.read(e.b)
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
		})
	}
}

// Records of the previous format have no history; it decodes as zero.
func TestRecordsOfTheFormatBeforeAreRead(t *testing.T) {
	before := func(e *Encoder, lacks int) []byte {
		b := append([]byte(nil), e.b[:len(e.b)-lacks]...)
		b[0] = 2
		return b
	}
	var e Encoder
	due := queue.Due{DueAtMs: 5, Attempts: 3, MaxAttempts: 4, LeaseMs: 5, Bytes: 6, Extras: queue.NewExtras(queue.Extras{}, queue.Common{RetentionMs: 7})}
	EncodeDue(&e, due)
	gotDue, err := DecodeDue(before(&e, 2), 5)
	require.NoError(t, err)
	assert.Equal(t, due, gotDue)

	p := queue.Progress{DueAtMs: 5, Attempts: 3, MaxAttempts: 4, Token: 99, ExpiresAtMs: 7}
	EncodeProgress(&e, p)
	gotProgress, err := DecodeProgress(before(&e, 2))
	require.NoError(t, err)
	assert.Equal(t, p, gotProgress)

	r := queue.Record{ID: 1, Tenant: "t", Name: "q", NextSeq: 9, Counts: queue.Counts{Enqueued: 9, Fresh: 9, Bytes: 90}, Lanes: 1}
	r.Cursors[0] = 3
	EncodeQueue(&e, &r)
	gotQueue, err := DecodeQueue(1, before(&e, 1))
	require.NoError(t, err)
	assert.Equal(t, r, gotQueue)
}

// A queue's record of the previous format has no counts of due tasks: counting starts at the
// beginning of each lane.
func TestDueTasksOfTheFormatBeforeAreNotCountedYet(t *testing.T) {
	r := queue.Record{ID: 1, Tenant: "t", Name: "q", Counts: queue.Counts{Returned: 3}, Lanes: 1<<0 | 1<<4, Due: new([queue.Lanes]queue.DueCount)}
	var e Encoder
	EncodeQueue(&e, &r)
	// The history's bytes, and the counts of two lanes.
	b := append([]byte(nil), e.b[:len(e.b)-1-2*3]...)
	b[0] = 2
	got, err := DecodeQueue(1, b)
	require.NoError(t, err)
	for _, p := range []int{0, 4} {
		r.Due[p].BeforeMs = math.MinInt64
	}
	assert.Equal(t, r, got)
}

func TestDamagedRecordsAreRefused(t *testing.T) {
	for _, r := range records {
		t.Run(r.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var e Encoder
				r.draw(t, &e)
				whole := len(e.b)
				if r.open {
					var err error
					whole, err = r.header(e.b)
					require.NoError(t, err)
				}
				cut := rapid.IntRange(0, whole-1).Draw(t, "cut")
				_, err := r.read(e.b[:cut])
				require.Error(t, err, "cut to %d of %d bytes", cut, whole)
				if !r.open {
					_, err = r.read(append(e.b, 0))
					require.ErrorContains(t, err, "1 bytes too many")
				}
				newer := append([]byte(nil), e.b...)
				newer[0] = FormatNewest + 1
				_, err = r.read(newer)
				require.ErrorContains(t, err, "record has format 12, this server reads formats 2 to 11: use the server that wrote it, or a newer one")
			})
		})
	}
}

func TestNumbersOutOfRangeAreRefused(t *testing.T) {
	long := func(fields ...uint64) []byte {
		var e Encoder
		e.start()
		for _, f := range fields {
			e.uint(f)
		}
		return e.b
	}
	_, err := DecodeDue(long(1<<32, 1, 1), 0)
	require.ErrorContains(t, err, "number 4294967296 is out of range")
	_, err = DecodeQueue(1, long(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1<<queue.Lanes))
	require.ErrorContains(t, err, "lanes 100000000000000000000 are out of range")
	_, err = DecodeLease(long(1, 0, queue.MaxPriority+1, 0, 0, 0, 0, 0, 0))
	require.ErrorContains(t, err, "priority 10 is out of range")
	_, err = DecodeLease(long(1, 1, 0, 0, 0, 0, 0, 0, 0)) // a zigzag 1 is -1
	require.ErrorContains(t, err, "queue -1 is out of range")
	_, err = DecodeLease(long(math.MaxUint64))
	require.Error(t, err, "a count beyond the record must not be allocated")
	_, err = DecodeAttempt(long(0, 0, math.MaxUint64))
	require.ErrorIs(t, err, fields.ErrTruncated)
}

// The task's payload is a copy, because the source bytes belong to an iterator.
func TestTaskPayloadIsACopy(t *testing.T) {
	var e Encoder
	EncodeTask(&e, queue.Task{Payload: []byte("abc")})
	task, err := DecodeTask(e.b)
	require.NoError(t, err)
	clear(e.b)
	assert.Equal(t, "abc", string(task.Payload))
}

// The fuzz targets check that no input makes a decoder panic, and that an accepted value survives
// encoding and decoding.

func fuzzSeeds(f *testing.F, encode func(e *Encoder)) {
	var e Encoder
	encode(&e)
	f.Add(e.b)
	f.Add(e.b[:len(e.b)-1])
	f.Add([]byte{})
	f.Add([]byte{Format + 1, 0, 0})
	f.Add([]byte("\xa7\xa7\xa7\xa7\xa7\x01")) // another format, followed by a huge count
	f.Add([]byte{Format, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
}

func fuzz[T any](f *testing.F, read func([]byte) (T, error), write func(*Encoder, T)) {
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := read(b)
		if err != nil {
			return
		}
		var e Encoder
		write(&e, v)
		again, err := read(e.b)
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}

func FuzzDecodeTask(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) { EncodeTask(e, queue.Task{EnqueuedAtMs: 5, MaxAttempts: 2, Payload: []byte("p")}) })
	fuzz(f, DecodeTask, EncodeTask)
}

func FuzzDecodeDue(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) { EncodeDue(e, queue.Due{Attempts: 1, MaxAttempts: 300, LeaseMs: 9}) })
	fuzz(f, func(b []byte) (queue.Due, error) { return DecodeDue(b, 3) }, EncodeDue)
}

func FuzzDecodeProgress(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) { EncodeProgress(e, queue.Progress{Attempts: 1, Token: 4_097, ExpiresAtMs: 3}) })
	fuzz(f, DecodeProgress, EncodeProgress)
}

func FuzzDecodeDead(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) { EncodeDead(e, queue.Dead{DiedAtMs: 1, Reason: queue.TimeToLiveOver}) })
	fuzz(f, DecodeDead, EncodeDead)
}

func FuzzDecodeAttempt(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeAttempt(e, queue.Attempt{EndedAtMs: 1, Outcome: queue.LeaseExpired, Error: "oops"})
	})
	fuzz(f, DecodeAttempt, EncodeAttempt)
}

func FuzzDecodeKey(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeKey(e, queue.KeyRef{Ref: queue.Ref{Queue: 1, Priority: 2, Seq: 3}, ExpiresAtMs: 4})
	})
	fuzz(f, DecodeKey, EncodeKey)
}

func FuzzDecodeResult(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeResult(e, queue.Result{CompletedAtMs: 1, RetainedUntilMs: 2, Value: []byte("v")})
	})
	fuzz(f, DecodeResult, EncodeResult)
}

func FuzzDecodeLease(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeLease(e, []queue.LeaseRef{{Ref: queue.Ref{Queue: 1, Seq: 2}, Attempt: 1}, {Ref: queue.Ref{Queue: 3, Seq: 1}}}, 7)
	})
	fuzz(f, DecodeLease, func(e *Encoder, l queue.RecoveredLease) { EncodeLease(e, l.Refs, l.ClaimedMs) })
}

func FuzzDecodeFinished(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeFinished(e, &queue.Finished{Ref: queue.Ref{Seq: 3}, How: queue.FinishDied, Headers: withHeaders(nil)[2:], LastError: "oops"})
	})
	fuzz(f, func(b []byte) (queue.Finished, error) { return DecodeFinished(3, b) },
		func(e *Encoder, v queue.Finished) { EncodeFinished(e, &v) })
}

func FuzzDecodeExtension(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) { EncodeExtension(e, 300) })
	fuzz(f, DecodeExtension, EncodeExtension)
}

func FuzzDecodeQueue(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) {
		EncodeQueue(e, &queue.Record{Tenant: "t", Name: "q", Lanes: 5, Cursors: [queue.MaxPriority + 1]uint64{2: 7}})
	})
	fuzz(f, func(b []byte) (queue.Record, error) { return DecodeQueue(3, b) },
		func(e *Encoder, r queue.Record) { EncodeQueue(e, &r) })
}

func FuzzDecodeMeta(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) { EncodeMeta(e, queue.Meta{NextBatch: 300, NextQueue: 2}) })
	fuzz(f, DecodeMeta, EncodeMeta)
}

func FuzzDecodeReserved(f *testing.F) {
	fuzzSeeds(f, func(e *Encoder) { EncodeReserved(e, queue.Reserved{Batch: 300, Queue: 2, Seq: 1 << 24}) })
	fuzz(f, DecodeReserved, EncodeReserved)
}

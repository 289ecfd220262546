package storage

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
	return &queue.Extras{Backoff: drawBackoff(t), RetentionMs: rapid.Uint64().Draw(t, "retention"), ExpiresAtMs: drawMs.Draw(t, "expires")}
}

// record is one kind of record: how to draw one, and to read it back.
type record struct {
	name string
	// draw encodes a drawn value and returns what it must be read back as.
	draw func(t *rapid.T, e *encoder) any
	read func(b []byte) (any, error)
	open bool // ends with bytes of any number: a cut is not always seen, nor is an excess
	// header says where these bytes begin.
	header func(b []byte) (int, error)
}

var records = []record{
	{
		name: "task",
		draw: func(t *rapid.T, e *encoder) any {
			task := queue.Task{
				EnqueuedAtMs: drawMs.Draw(t, "enqueued"), MaxAttempts: rapid.Uint32().Draw(t, "attempts"),
				LeaseMs: rapid.Uint64().Draw(t, "lease"), Delayed: rapid.Bool().Draw(t, "delayed"), Extras: drawExtras(t),
			}
			if p := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload"); len(p) > 0 {
				task.Payload = p
			}
			encodeTask(e, task)
			return task
		},
		read: func(b []byte) (any, error) { return decodeTask(b) },
		open: true,
		header: func(b []byte) (int, error) {
			task, err := decodeTask(b)
			return len(b) - len(task.Payload), err
		},
	},
	{
		name: "due",
		draw: func(t *rapid.T, e *encoder) any {
			due := queue.Due{
				DueAtMs: 77, Attempts: rapid.Uint32().Draw(t, "attempts"),
				MaxAttempts: rapid.Uint32().Draw(t, "most"), LeaseMs: rapid.Uint64().Draw(t, "lease"),
				Bytes: rapid.Uint32().Draw(t, "bytes"), Extras: drawExtras(t),
			}
			encodeDue(e, due)
			return due
		},
		read: func(b []byte) (any, error) { return decodeDue(b, 77) },
	},
	{
		name: "progress",
		draw: func(t *rapid.T, e *encoder) any {
			p := queue.Progress{
				DueAtMs: drawMs.Draw(t, "due"), Attempts: rapid.Uint32().Draw(t, "attempts"),
				MaxAttempts: rapid.Uint32().Draw(t, "most"), Token: rapid.Uint64().Draw(t, "token"), ExpiresAtMs: drawMs.Draw(t, "expires"),
				History: drawHistory(t),
			}
			encodeProgress(e, p)
			return p
		},
		read: func(b []byte) (any, error) { return decodeProgress(b) },
	},
	{
		name: "dead",
		draw: func(t *rapid.T, e *encoder) any {
			d := queue.Dead{DiedAtMs: drawMs.Draw(t, "died"), Reason: queue.Reason(rapid.Uint8().Draw(t, "reason"))}
			encodeDead(e, d)
			return d
		},
		read: func(b []byte) (any, error) { return decodeDead(b) },
	},
	{
		name: "attempt",
		draw: func(t *rapid.T, e *encoder) any {
			a := queue.Attempt{
				EndedAtMs: drawMs.Draw(t, "ended"), Outcome: queue.Outcome(rapid.Uint8().Draw(t, "outcome")), Error: drawText.Draw(t, "error"),
			}
			encodeAttempt(e, a)
			return a
		},
		read: func(b []byte) (any, error) { return decodeAttempt(b) },
	},
	{
		name: "key",
		draw: func(t *rapid.T, e *encoder) any {
			k := queue.KeyRef{Ref: drawRef(t), ExpiresAtMs: drawMs.Draw(t, "expires")}
			encodeKey(e, k)
			return k
		},
		read: func(b []byte) (any, error) { return decodeKey(b) },
	},
	{
		name: "result",
		draw: func(t *rapid.T, e *encoder) any {
			r := queue.Result{CompletedAtMs: drawMs.Draw(t, "completed"), RetainedUntilMs: drawMs.Draw(t, "until")}
			if v := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value"); len(v) > 0 {
				r.Value = v
			}
			encodeResult(e, r)
			return r
		},
		read: func(b []byte) (any, error) { return decodeResult(b) },
		open: true,
		header: func(b []byte) (int, error) {
			r, err := decodeResult(b)
			return len(b) - len(r.Value), err
		},
	},
	{
		name: "lease",
		draw: func(t *rapid.T, e *encoder) any {
			refs := make([]queue.LeaseRef, rapid.IntRange(0, 6).Draw(t, "n"))
			for i := range refs {
				refs[i] = queue.LeaseRef{
					Ref: drawRef(t), Attempt: rapid.Uint32().Draw(t, "attempt"), MaxAttempts: rapid.Uint32().Draw(t, "most"),
					LeaseMs: rapid.Uint64().Draw(t, "lease"), ExpiresAtMs: drawMs.Draw(t, "expires"),
					HasProgress: rapid.Bool().Draw(t, "progress"), Bytes: rapid.Uint32().Draw(t, "bytes"), Extras: drawExtras(t),
				}
			}
			encodeLease(e, refs)
			return refs
		},
		read: func(b []byte) (any, error) { return decodeLease(b) },
	},
	{
		name: "extension",
		draw: func(t *rapid.T, e *encoder) any {
			untilMs := drawMs.Draw(t, "until")
			encodeExtension(e, untilMs)
			return untilMs
		},
		read: func(b []byte) (any, error) { return decodeExtension(b) },
	},
	{
		name: "queue",
		draw: func(t *rapid.T, e *encoder) any {
			n := func(name string) uint64 { return rapid.Uint64().Draw(t, name) }
			r := queue.Record{
				ID: 9, Tenant: drawText.Draw(t, "tenant"), Name: drawText.Draw(t, "name"), NextSeq: n("next"),
				Counts: queue.Counts{
					Enqueued: n("enqueued"), Completed: n("completed"), Removed: n("removed"), Fresh: n("fresh"),
					Returned: n("returned"), Leased: n("leased"), Dead: n("dead"), Bytes: n("bytes"), HistoryBytes: n("history"),
				},
				Paused: rapid.Bool().Draw(t, "paused"),
				Lanes:  rapid.Uint16Range(0, 1<<(queue.MaxPriority+1)-1).Draw(t, "lanes"),
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
				}
			}
			for p := range r.Due {
				if r.Lanes&(1<<p) != 0 && r.Counts.Returned > 0 {
					r.Due[p] = queue.DueCount{Tasks: n("due"), BeforeMs: drawMs.Draw(t, "before"), BeforeSeq: n("before seq")}
				}
			}
			encodeQueue(e, &r)
			return r
		},
		read: func(b []byte) (any, error) { return decodeQueue(9, b) },
	},
	{
		name: "sum",
		draw: func(t *rapid.T, e *encoder) any {
			s := queue.Sum{Kind: queue.KeptResults, Bucket: 5, Tenant: "t", Bytes: rapid.Int64().Draw(t, "bytes")}
			encodeSum(e, s)
			return s
		},
		read: func(b []byte) (any, error) {
			return decodeSum(sumKey(queue.Sum{Kind: queue.KeptResults, Bucket: 5, Tenant: "t"}), b)
		},
	},
	{
		name: "meta",
		draw: func(t *rapid.T, e *encoder) any {
			m := queue.Meta{NextBatch: rapid.Uint64().Draw(t, "batch"), NextQueue: rapid.Uint32().Draw(t, "queue")}
			encodeMeta(e, m)
			return m
		},
		read: func(b []byte) (any, error) { return decodeMeta(b) },
	},
	{
		name: "reserved",
		draw: func(t *rapid.T, e *encoder) any {
			r := queue.Reserved{Batch: rapid.Uint64().Draw(t, "batch"), Queue: rapid.Uint32().Draw(t, "queue"), Seq: rapid.Uint64().Draw(t, "seq")}
			encodeReserved(e, r)
			return r
		},
		read: func(b []byte) (any, error) { return decodeReserved(b) },
	},
}

func TestRecordsComeBackFromTheirBytes(t *testing.T) {
	for _, r := range records {
		t.Run(r.name, func(t *testing.T) {
			e := encoder{b: []byte("left over from the record before")}
			rapid.Check(t, func(t *rapid.T) {
				want := r.draw(t, &e)
				got, err := r.read(e.b)
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
		})
	}
}

// Records of the format before have no history: it is zero.
func TestRecordsOfTheFormatBeforeAreRead(t *testing.T) {
	before := func(e *encoder, lacks int) []byte {
		b := append([]byte(nil), e.b[:len(e.b)-lacks]...)
		b[0] = 2
		return b
	}
	var e encoder
	due := queue.Due{DueAtMs: 5, Attempts: 3, MaxAttempts: 4, LeaseMs: 5, Bytes: 6, Extras: &queue.Extras{RetentionMs: 7}}
	encodeDue(&e, due)
	gotDue, err := decodeDue(before(&e, 2), 5)
	require.NoError(t, err)
	assert.Equal(t, due, gotDue)

	p := queue.Progress{DueAtMs: 5, Attempts: 3, MaxAttempts: 4, Token: 99, ExpiresAtMs: 7}
	encodeProgress(&e, p)
	gotProgress, err := decodeProgress(before(&e, 2))
	require.NoError(t, err)
	assert.Equal(t, p, gotProgress)

	r := queue.Record{ID: 1, Tenant: "t", Name: "q", NextSeq: 9, Counts: queue.Counts{Enqueued: 9, Fresh: 9, Bytes: 90}, Lanes: 1}
	r.Cursors[0] = 3
	encodeQueue(&e, &r)
	gotQueue, err := decodeQueue(1, before(&e, 1))
	require.NoError(t, err)
	assert.Equal(t, r, gotQueue)
}

// A queue's record of the format before does not say how many tasks are due: they are counted from the beginning.
func TestDueTasksOfTheFormatBeforeAreNotCountedYet(t *testing.T) {
	r := queue.Record{ID: 1, Tenant: "t", Name: "q", Counts: queue.Counts{Returned: 3}, Lanes: 1<<0 | 1<<4}
	var e encoder
	encodeQueue(&e, &r)
	b := append([]byte(nil), e.b[:len(e.b)-1-2*3]...) // its history's bytes, and what two lanes have
	b[0] = 2
	got, err := decodeQueue(1, b)
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
				var e encoder
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
				newer[0] = format + 1
				_, err = r.read(newer)
				require.ErrorContains(t, err, "record has format 4, this server reads formats 2 to 3: use the server that wrote it, or a newer one")
			})
		})
	}
}

func TestNumbersOutOfRangeAreRefused(t *testing.T) {
	long := func(fields ...uint64) []byte {
		var e encoder
		e.start()
		for _, f := range fields {
			e.uint(f)
		}
		return e.b
	}
	_, err := decodeDue(long(1<<32, 1, 1), 0)
	require.ErrorContains(t, err, "number 4294967296 is out of range")
	_, err = decodeQueue(1, long(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1<<(queue.MaxPriority+1)))
	require.ErrorContains(t, err, "lanes 10000000000 are out of range")
	_, err = decodeLease(long(1, 0, queue.MaxPriority+1, 0, 0, 0, 0, 0, 0))
	require.ErrorContains(t, err, "priority 10 is out of range")
	_, err = decodeLease(long(1, 1, 0, 0, 0, 0, 0, 0, 0)) // 1 is -1 as a signed number
	require.ErrorContains(t, err, "queue -1 is out of range")
	_, err = decodeLease(long(math.MaxUint64))
	require.Error(t, err, "a count beyond the record must not be allocated")
	_, err = decodeAttempt(long(0, 0, math.MaxUint64))
	require.ErrorIs(t, err, fields.ErrTruncated)
}

// The task's payload is a copy: the bytes it was read from belong to an iterator.
func TestTaskPayloadIsACopy(t *testing.T) {
	var e encoder
	encodeTask(&e, queue.Task{Payload: []byte("abc")})
	task, err := decodeTask(e.b)
	require.NoError(t, err)
	clear(e.b)
	assert.Equal(t, "abc", string(task.Payload))
}

// The fuzz targets say that no bytes make a decoder panic, and that what it accepts is a value
// that comes back from its own bytes.

func fuzzSeeds(f *testing.F, encode func(e *encoder)) {
	var e encoder
	encode(&e)
	f.Add(e.b)
	f.Add(e.b[:len(e.b)-1])
	f.Add([]byte{})
	f.Add([]byte{format + 1, 0, 0})
	f.Add([]byte("\xa7\xa7\xa7\xa7\xa7\x01")) // another format, then what reads as a huge count
	f.Add([]byte{format, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
}

func fuzz[T any](f *testing.F, read func([]byte) (T, error), write func(*encoder, T)) {
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := read(b)
		if err != nil {
			return
		}
		var e encoder
		write(&e, v)
		again, err := read(e.b)
		require.NoError(t, err)
		require.Equal(t, v, again)
	})
}

func FuzzDecodeTask(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) { encodeTask(e, queue.Task{EnqueuedAtMs: 5, MaxAttempts: 2, Payload: []byte("p")}) })
	fuzz(f, decodeTask, encodeTask)
}

func FuzzDecodeDue(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) { encodeDue(e, queue.Due{Attempts: 1, MaxAttempts: 300, LeaseMs: 9}) })
	fuzz(f, func(b []byte) (queue.Due, error) { return decodeDue(b, 3) }, encodeDue)
}

func FuzzDecodeProgress(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) { encodeProgress(e, queue.Progress{Attempts: 1, Token: 4_097, ExpiresAtMs: 3}) })
	fuzz(f, decodeProgress, encodeProgress)
}

func FuzzDecodeDead(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) { encodeDead(e, queue.Dead{DiedAtMs: 1, Reason: queue.TimeToLiveOver}) })
	fuzz(f, decodeDead, encodeDead)
}

func FuzzDecodeAttempt(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) {
		encodeAttempt(e, queue.Attempt{EndedAtMs: 1, Outcome: queue.LeaseExpired, Error: "oops"})
	})
	fuzz(f, decodeAttempt, encodeAttempt)
}

func FuzzDecodeKey(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) {
		encodeKey(e, queue.KeyRef{Ref: queue.Ref{Queue: 1, Priority: 2, Seq: 3}, ExpiresAtMs: 4})
	})
	fuzz(f, decodeKey, encodeKey)
}

func FuzzDecodeResult(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) {
		encodeResult(e, queue.Result{CompletedAtMs: 1, RetainedUntilMs: 2, Value: []byte("v")})
	})
	fuzz(f, decodeResult, encodeResult)
}

func FuzzDecodeLease(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) {
		encodeLease(e, []queue.LeaseRef{{Ref: queue.Ref{Queue: 1, Seq: 2}, Attempt: 1}, {Ref: queue.Ref{Queue: 3, Seq: 1}}})
	})
	fuzz(f, decodeLease, encodeLease)
}

func FuzzDecodeExtension(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) { encodeExtension(e, 300) })
	fuzz(f, decodeExtension, encodeExtension)
}

func FuzzDecodeQueue(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) {
		encodeQueue(e, &queue.Record{Tenant: "t", Name: "q", Lanes: 5, Cursors: [queue.MaxPriority + 1]uint64{2: 7}})
	})
	fuzz(f, func(b []byte) (queue.Record, error) { return decodeQueue(3, b) },
		func(e *encoder, r queue.Record) { encodeQueue(e, &r) })
}

func FuzzDecodeMeta(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) { encodeMeta(e, queue.Meta{NextBatch: 300, NextQueue: 2}) })
	fuzz(f, decodeMeta, encodeMeta)
}

func FuzzDecodeReserved(f *testing.F) {
	fuzzSeeds(f, func(e *encoder) { encodeReserved(e, queue.Reserved{Batch: 300, Queue: 2, Seq: 1 << 24}) })
	fuzz(f, decodeReserved, encodeReserved)
}

package record

import (
	"encoding/binary"
	"fmt"

	"github.com/pronybench/prony/engine/internal/fields"
	"github.com/pronybench/prony/engine/queue"
)

// Format is the first byte of every record, except those in FormatNewest. Decoding rejects newer
// formats; format 1 was never released. Fields that do not exist in an older format are decoded as
// zero. The formats added:
//
//	3  the history's bytes of a task, and of a queue; a queue's counts of due tasks
//	4  of a queue: tasks and leases may be in the log only, where a program that reads only format 3 does not find them
//	5  of a task: headers at the start of the payload
//	6  of a due record and of a progress: the size of the task's note
//	7  of a task, a due record and a lease batch: unique keys; of a queue: the key window
//	8  of a due record, a progress and a unique key: the changed priority of the task
//	9  of a queue: the history of its finished tasks, and its policy; of a lease batch and a progress: times of claims
//	10 of a task, a due record and a lease batch: the group; of a queue: the limits, and whether
//	   leased tasks may not be below the cursors
//	11 of a task, a due record, a lease batch, a unique key and a queue: dependencies
//
// A store without such tasks, leases and queues contains no record in formats 4 to 11.
const (
	Format        = 3
	formatOldest  = 2
	FormatYoung   = 4
	formatHeaders = 5
	formatNote    = 6
	formatUnique  = 7
	formatShift   = 8
	formatHistory = 9
	formatLimits  = 10
	formatDepends = 11
	FormatNewest  = formatDepends
)

// Encoder encodes successive records into the same buffer.
type Encoder struct{ b []byte }

// Bytes returns the last encoded record. It is valid until the next record is encoded.
func (e *Encoder) Bytes() []byte { return e.b }

func (e *Encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }
func (e *Encoder) int(v int64)   { e.b = binary.AppendVarint(e.b, v) }
func (e *Encoder) text(s string) { e.uint(uint64(len(s))); e.b = append(e.b, s...) }
func (e *Encoder) start()        { e.b = append(e.b[:0], Format) }

type decoder struct{ *fields.Decoder }

func decode(b []byte) decoder { return decoder{fields.NewSince(b, formatOldest, FormatNewest)} }

// MarkYoung changes the format of the last encoded record, which must be the record of a queue, to
// at least 4: tasks and leases may be in the log only.
func (e *Encoder) MarkYoung() { e.b[0] = max(e.b[0], FormatYoung) }

func (e *Encoder) bool(v bool) {
	if v {
		e.uint(1)
	} else {
		e.uint(0)
	}
}

func (d decoder) priority() uint8 {
	p := d.Uint()
	if p > queue.MaxPriority {
		d.Fail(fmt.Errorf("priority %d is out of range", p))
	}
	return uint8(p)
}

// EncodeDue encodes the Due record of a task. The time is in the key:
//
//	format | attempts | attempts max | lease | payload bytes | extras | history | (note bytes, since format 6) | (priority shift, in format 8)
func EncodeDue(e *Encoder, due queue.Due) {
	e.start()
	e.uint(uint64(due.Attempts))
	e.uint(uint64(due.MaxAttempts))
	e.uint(due.LeaseMs)
	e.uint(uint64(due.Bytes))
	e.extras(due.Extras)
	e.history(due.History)
	e.noteAndShift(due.NoteBytes, due.PriorityShift, Format)
}

// DecodeDue decodes a Due record. dueAtMs is the time from the key.
func DecodeDue(b []byte, dueAtMs int64) (queue.Due, error) {
	d := decode(b)
	due := queue.Due{DueAtMs: dueAtMs, Attempts: d.Uint32(), MaxAttempts: d.Uint32(), LeaseMs: d.Uint(), Bytes: d.Uint32(), Extras: d.extras(), History: d.history(), NoteBytes: d.noteBytes(), PriorityShift: d.priorityShift()}
	return due, d.End()
}

// EncodeProgress encodes the progress of a task:
//
//	format | due | attempts | attempts max | token | expires | history | (note bytes, since format 6) | (priority shift, since format 8)
//	| (first claim | last claim, since format 9)
func EncodeProgress(e *Encoder, p queue.Progress) {
	e.start()
	e.int(p.DueAtMs)
	e.uint(uint64(p.Attempts))
	e.uint(uint64(p.MaxAttempts))
	e.uint(p.Token)
	e.int(p.ExpiresAtMs)
	e.history(p.History)
	if p.Claims == (queue.Claims{}) {
		e.noteAndShift(p.NoteBytes, p.PriorityShift, Format)
		return
	}
	e.noteAndShift(p.NoteBytes, p.PriorityShift, formatHistory)
	e.claims(p.Claims)
}

// DecodeProgress decodes the progress of a task.
func DecodeProgress(b []byte) (queue.Progress, error) {
	d := decode(b)
	p := queue.Progress{DueAtMs: d.Int(), Attempts: d.Uint32(), MaxAttempts: d.Uint32(), Token: d.Uint(), ExpiresAtMs: d.Int(), History: d.history(), NoteBytes: d.noteBytes(), PriorityShift: d.priorityShift()}
	if d.Format >= formatHistory {
		p.Claims = d.claims()
	}
	return p, d.End()
}

// EncodeDead encodes the record of a dead task:
//
//	format | died | reason
func EncodeDead(e *Encoder, x queue.Dead) {
	e.start()
	e.int(x.DiedAtMs)
	e.uint(uint64(x.Reason))
}

// DecodeDead decodes the record of a dead task.
func DecodeDead(b []byte) (queue.Dead, error) {
	d := decode(b)
	x := queue.Dead{DiedAtMs: d.Int(), Reason: queue.Reason(d.Uint8())}
	return x, d.End()
}

// EncodeAttempt encodes a failed attempt:
//
//	format | ended | outcome | error
func EncodeAttempt(e *Encoder, a queue.Attempt) {
	e.start()
	e.int(a.EndedAtMs)
	e.uint(uint64(a.Outcome))
	e.text(a.Error)
}

// DecodeAttempt decodes a failed attempt.
func DecodeAttempt(b []byte) (queue.Attempt, error) {
	d := decode(b)
	a := queue.Attempt{EndedAtMs: d.Int(), Outcome: queue.Outcome(d.Uint8()), Error: d.Text()}
	return a, d.End()
}

// EncodeKey encodes the reference of an idempotency key to its task:
//
//	format | queue | priority | seq | expires
func EncodeKey(e *Encoder, k queue.KeyRef) {
	e.start()
	e.uint(uint64(k.Ref.Queue))
	e.uint(uint64(k.Ref.Priority))
	e.uint(k.Ref.Seq)
	e.int(k.ExpiresAtMs)
}

// DecodeKey decodes the reference of an idempotency key to its task.
func DecodeKey(b []byte) (queue.KeyRef, error) {
	d := decode(b)
	k := queue.KeyRef{Ref: queue.Ref{Queue: d.Uint32(), Priority: d.priority(), Seq: d.Uint()}, ExpiresAtMs: d.Int()}
	return k, d.End()
}

// EncodeResult encodes the result of a task:
//
//	format | completed | retained until | value
func EncodeResult(e *Encoder, r queue.Result) {
	e.start()
	e.int(r.CompletedAtMs)
	e.int(r.RetainedUntilMs)
	e.b = append(e.b, r.Value...)
}

// DecodeResult decodes a result. It copies the value.
func DecodeResult(b []byte) (queue.Result, error) {
	d := decode(b)
	r := queue.Result{CompletedAtMs: d.Int(), RetainedUntilMs: d.Int()}
	if d.Err == nil && len(d.Rest) > 0 {
		r.Value = append([]byte(nil), d.Rest...)
	}
	return r, d.Err
}

// EncodeLease encodes a lease batch without the histories, changed priorities and notes of the tasks,
// which are in their Progress and note records. Queue, seq and expires are encoded as differences from the previous ref, because
// neighbours differ little:
//
//	format | number of refs | (queue | priority | seq | attempt | attempts max | lease | payload bytes | expires | has progress | extras)…
//	| (claimed, since format 9)
func EncodeLease(e *Encoder, refs []queue.LeaseRef, claimedMs int64) {
	e.start()
	e.uint(uint64(len(refs)))
	var queueID uint32
	var seq uint64
	var expires int64
	for i := range refs {
		r := &refs[i]
		e.int(int64(r.Queue) - int64(queueID))
		e.uint(uint64(r.Priority))
		e.int(int64(r.Seq - seq))
		e.uint(uint64(r.Attempt))
		e.uint(uint64(r.MaxAttempts))
		e.uint(r.LeaseMs)
		e.uint(uint64(r.Bytes))
		e.int(r.ExpiresAtMs - expires)
		e.bool(r.HasProgress)
		e.extras(r.Extras)
		queueID, seq, expires = r.Queue, r.Seq, r.ExpiresAtMs
	}
	if claimedMs > 0 {
		e.b[0] = max(e.b[0], formatHistory)
	}
	if e.b[0] >= formatHistory {
		e.int(claimedMs)
	}
}

// DecodeLease decodes a lease batch without its number.
func DecodeLease(b []byte) (l queue.RecoveredLease, err error) {
	d := decode(b)
	n := d.Uint()
	if n > uint64(len(d.Rest)) { // a ref has more than one byte
		d.Fail(fields.ErrTruncated)
		return l, d.Err
	}
	refs := make([]queue.LeaseRef, 0, n)
	var last queue.LeaseRef
	for range n {
		var r queue.LeaseRef
		id := int64(last.Queue) + d.Int()
		if uint64(id) > 1<<32-1 {
			d.Fail(fmt.Errorf("queue %d is out of range", id))
		}
		r.Queue = uint32(id)
		r.Priority = d.priority()
		r.Seq = last.Seq + uint64(d.Int())
		r.Attempt = d.Uint32()
		r.MaxAttempts = d.Uint32()
		r.LeaseMs = d.Uint()
		r.Bytes = d.Uint32()
		r.ExpiresAtMs = last.ExpiresAtMs + d.Int()
		r.HasProgress = d.Bool()
		r.Extras = d.extras()
		if d.Err != nil {
			return l, d.Err
		}
		refs = append(refs, r)
		last = r
	}
	l.Refs = refs
	if d.Format >= formatHistory {
		if l.ClaimedMs = d.Int(); l.ClaimedMs < 0 {
			d.Fail(fmt.Errorf("the time of a claim, %d, is out of range", l.ClaimedMs))
		}
	}
	return l, d.End()
}

// EncodeExtension encodes the new expiry of one task of a lease batch:
//
//	format | until
func EncodeExtension(e *Encoder, untilMs int64) {
	e.start()
	e.int(untilMs)
}

// DecodeExtension decodes the new expiry of a task.
func DecodeExtension(b []byte) (untilMs int64, err error) {
	d := decode(b)
	untilMs = d.Int()
	return untilMs, d.End()
}

// EncodeMeta encodes the next batch and queue numbers:
//
//	format | next batch | next queue
func EncodeMeta(e *Encoder, m queue.Meta) {
	e.start()
	e.uint(m.NextBatch)
	e.uint(uint64(m.NextQueue))
}

// DecodeMeta decodes the next batch and queue numbers.
func DecodeMeta(b []byte) (queue.Meta, error) {
	d := decode(b)
	m := queue.Meta{NextBatch: d.Uint(), NextQueue: d.Uint32()}
	return m, d.End()
}

// EncodeReserved encodes the reserved numbers:
//
//	format | batch | queue | seq
func EncodeReserved(e *Encoder, r queue.Reserved) {
	e.start()
	e.uint(r.Batch)
	e.uint(uint64(r.Queue))
	e.uint(r.Seq)
}

// DecodeReserved decodes the reserved numbers.
func DecodeReserved(b []byte) (queue.Reserved, error) {
	d := decode(b)
	r := queue.Reserved{Batch: d.Uint(), Queue: d.Uint32(), Seq: d.Uint()}
	return r, d.End()
}

// EncodeSum encodes a tenant's charge for a bucket; the other fields are in the key:
//
//	format | bytes
func EncodeSum(e *Encoder, s queue.Sum) {
	e.start()
	e.int(s.Bytes)
}

// DecodeSum decodes a tenant's charge for a bucket, including the fields of the key.
func DecodeSum(key, b []byte) (queue.Sum, error) {
	s, err := parseSumKey(key)
	if err != nil {
		return s, err
	}
	d := decode(b)
	s.Bytes = d.Int()
	return s, d.End()
}

// EncodeSystem encodes a system record: the format byte, followed by the unchanged value.
func EncodeSystem(e *Encoder, value []byte) {
	e.start()
	e.b = append(e.b, value...)
}

// DecodeSystem returns the value of a system record, as a subslice of b.
func DecodeSystem(b []byte) ([]byte, error) {
	d := decode(b)
	return d.Rest, d.Err
}

// EncodeExpiry encodes a record of the index of tasks with a time to live. It has no fields besides
// those in the key.
func EncodeExpiry(e *Encoder) { e.start() }

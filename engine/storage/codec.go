package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// format is the first byte of every record. A record of another format is refused: a newer one is not
// understood, and format 1 was never released.
const format = 2

var errTruncated = errors.New("record is cut short")

// encoder appends the fields of a record to b.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int64)   { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) text(s string) { e.uint(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) start()        { e.b = append(e.b[:0], format) }

// decoder takes fields off the front of b. The first problem sticks and later reads give zeros.
type decoder struct {
	b   []byte
	err error
}

func decode(b []byte) *decoder {
	d := &decoder{b: b}
	if len(b) == 0 {
		d.err = errTruncated
	} else if b[0] != format {
		d.err = fmt.Errorf("record has format %d, this server reads format %d: use the server that wrote it, or a newer one", b[0], format)
	} else {
		d.b = b[1:]
	}
	return d
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) int() int64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.err, d.b = errTruncated, nil
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) text() string {
	n := d.uint()
	if d.err == nil && n > uint64(len(d.b)) {
		d.err = errTruncated
	}
	if d.err != nil {
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (e *encoder) bool(v bool) {
	if v {
		e.uint(1)
	} else {
		e.uint(0)
	}
}

func (d *decoder) bool() bool { return d.uint() != 0 }

func (d *decoder) uint32() uint32 {
	v := d.uint()
	if v > 1<<32-1 && d.err == nil {
		d.err = fmt.Errorf("number %d is out of range", v)
	}
	return uint32(v)
}

func (d *decoder) uint8() uint8 {
	v := d.uint()
	if v > 1<<8-1 && d.err == nil {
		d.err = fmt.Errorf("number %d is out of range", v)
	}
	return uint8(v)
}

func (d *decoder) priority() uint8 {
	p := d.uint()
	if p > queue.MaxPriority && d.err == nil {
		d.err = fmt.Errorf("priority %d is out of range", p)
	}
	return uint8(p)
}

func (d *decoder) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("record has %d bytes too many", len(d.b))
	}
	return d.err
}

// Extras are a flag, and their fields where there are any.
func (e *encoder) extras(x *queue.Extras) {
	e.bool(x != nil)
	if x == nil {
		return
	}
	e.backoff(x.Backoff)
	e.uint(x.RetentionMs)
	e.int(x.ExpiresAtMs)
}

func (d *decoder) extras() *queue.Extras {
	if !d.bool() {
		return nil
	}
	return &queue.Extras{Backoff: d.backoff(), RetentionMs: d.uint(), ExpiresAtMs: d.int()}
}

func (e *encoder) backoff(b queue.Backoff) {
	e.uint(b.InitialMs)
	e.uint(b.MaxMs)
	e.uint(uint64(b.MultiplierPercent))
	e.uint(uint64(b.JitterPercent))
}

func (d *decoder) backoff() queue.Backoff {
	return queue.Backoff{InitialMs: d.uint(), MaxMs: d.uint(), MultiplierPercent: d.uint32(), JitterPercent: d.uint32()}
}

// format | enqueued | attempts max | lease | delayed | extras | payload
func encodeTask(e *encoder, t queue.Task) {
	e.start()
	e.int(t.EnqueuedAtMs)
	e.uint(uint64(t.MaxAttempts))
	e.uint(t.LeaseMs)
	e.bool(t.Delayed)
	e.extras(t.Extras)
	e.b = append(e.b, t.Payload...)
}

// decodeTask copies the payload: b may belong to an iterator.
func decodeTask(b []byte) (queue.Task, error) {
	d := decode(b)
	t := queue.Task{EnqueuedAtMs: d.int(), MaxAttempts: d.uint32(), LeaseMs: d.uint(), Delayed: d.bool(), Extras: d.extras()}
	if d.err == nil && len(d.b) > 0 {
		t.Payload = append([]byte(nil), d.b...)
	}
	return t, d.err
}

func encodeDue(e *encoder, due queue.Due) {
	e.start()
	e.uint(uint64(due.Attempts))
	e.uint(uint64(due.MaxAttempts))
	e.uint(due.LeaseMs)
	e.uint(uint64(due.Bytes))
	e.extras(due.Extras)
}

func decodeDue(b []byte, dueAtMs int64) (queue.Due, error) {
	d := decode(b)
	due := queue.Due{DueAtMs: dueAtMs, Attempts: d.uint32(), MaxAttempts: d.uint32(), LeaseMs: d.uint(), Bytes: d.uint32(), Extras: d.extras()}
	return due, d.end()
}

func encodeProgress(e *encoder, p queue.Progress) {
	e.start()
	e.int(p.DueAtMs)
	e.uint(uint64(p.Attempts))
	e.uint(uint64(p.MaxAttempts))
	e.uint(p.Token)
	e.int(p.ExpiresAtMs)
}

func decodeProgress(b []byte) (queue.Progress, error) {
	d := decode(b)
	p := queue.Progress{DueAtMs: d.int(), Attempts: d.uint32(), MaxAttempts: d.uint32(), Token: d.uint(), ExpiresAtMs: d.int()}
	return p, d.end()
}

func encodeDead(e *encoder, x queue.Dead) {
	e.start()
	e.int(x.DiedAtMs)
	e.uint(uint64(x.Reason))
}

func decodeDead(b []byte) (queue.Dead, error) {
	d := decode(b)
	x := queue.Dead{DiedAtMs: d.int(), Reason: queue.Reason(d.uint8())}
	return x, d.end()
}

func encodeAttempt(e *encoder, a queue.Attempt) {
	e.start()
	e.int(a.EndedAtMs)
	e.uint(uint64(a.Outcome))
	e.text(a.Error)
}

func decodeAttempt(b []byte) (queue.Attempt, error) {
	d := decode(b)
	a := queue.Attempt{EndedAtMs: d.int(), Outcome: queue.Outcome(d.uint8()), Error: d.text()}
	return a, d.end()
}

func encodeKey(e *encoder, k queue.KeyRef) {
	e.start()
	e.uint(uint64(k.Ref.Queue))
	e.uint(uint64(k.Ref.Priority))
	e.uint(k.Ref.Seq)
	e.int(k.ExpiresAtMs)
}

func decodeKey(b []byte) (queue.KeyRef, error) {
	d := decode(b)
	k := queue.KeyRef{Ref: queue.Ref{Queue: d.uint32(), Priority: d.priority(), Seq: d.uint()}, ExpiresAtMs: d.int()}
	return k, d.end()
}

// format | completed | retained until | value
func encodeResult(e *encoder, r queue.Result) {
	e.start()
	e.int(r.CompletedAtMs)
	e.int(r.RetainedUntilMs)
	e.b = append(e.b, r.Value...)
}

func decodeResult(b []byte) (queue.Result, error) {
	d := decode(b)
	r := queue.Result{CompletedAtMs: d.int(), RetainedUntilMs: d.int()}
	if d.err == nil && len(d.b) > 0 {
		r.Value = append([]byte(nil), d.b...)
	}
	return r, d.err
}

func encodeLease(e *encoder, refs []queue.LeaseRef) {
	e.start()
	e.uint(uint64(len(refs)))
	var queueID uint32
	var seq uint64
	var expires int64
	for i := range refs { // neighbours differ little: differences keep the record small
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
}

func decodeLease(b []byte) ([]queue.LeaseRef, error) {
	d := decode(b)
	n := d.uint()
	if d.err == nil && n > uint64(len(d.b)) { // a ref takes more than one byte
		return nil, errTruncated
	}
	refs := make([]queue.LeaseRef, 0, n)
	var last queue.LeaseRef
	for range n {
		var r queue.LeaseRef
		id := int64(last.Queue) + d.int()
		if uint64(id) > 1<<32-1 && d.err == nil {
			d.err = fmt.Errorf("queue %d is out of range", id)
		}
		r.Queue = uint32(id)
		r.Priority = d.priority()
		r.Seq = last.Seq + uint64(d.int())
		r.Attempt = d.uint32()
		r.MaxAttempts = d.uint32()
		r.LeaseMs = d.uint()
		r.Bytes = d.uint32()
		r.ExpiresAtMs = last.ExpiresAtMs + d.int()
		r.HasProgress = d.bool()
		r.Extras = d.extras()
		if d.err != nil {
			return nil, d.err
		}
		refs = append(refs, r)
		last = r
	}
	return refs, d.end()
}

func encodeQueue(e *encoder, r *queue.Record) {
	e.start()
	e.text(r.Tenant)
	e.text(r.Name)
	e.uint(r.NextSeq)
	c := &r.Counts
	for _, v := range [...]uint64{c.Enqueued, c.Completed, c.Removed, c.Fresh, c.Returned, c.Leased, c.Dead, c.Bytes} {
		e.uint(v)
	}
	e.uint(r.PolicyVersion)
	if r.PolicyVersion > 0 {
		e.policy(&r.Policy)
	}
	e.bool(r.Paused)
	e.uint(uint64(r.Lanes))
	for p, cursor := range r.Cursors {
		if r.Lanes&(1<<p) != 0 {
			e.uint(cursor)
		}
	}
}

func decodeQueue(id uint32, b []byte) (queue.Record, error) {
	d := decode(b)
	r := queue.Record{ID: id, Tenant: d.text(), Name: d.text(), NextSeq: d.uint()}
	c := &r.Counts
	for _, v := range [...]*uint64{&c.Enqueued, &c.Completed, &c.Removed, &c.Fresh, &c.Returned, &c.Leased, &c.Dead, &c.Bytes} {
		*v = d.uint()
	}
	r.PolicyVersion = d.uint()
	if r.PolicyVersion > 0 {
		r.Policy = d.policy()
	}
	r.Paused = d.bool()
	lanes := d.uint()
	if lanes >= 1<<(queue.MaxPriority+1) && d.err == nil {
		d.err = fmt.Errorf("lanes %b are out of range", lanes)
	}
	r.Lanes = uint16(lanes)
	for p := range r.Cursors {
		if r.Lanes&(1<<p) != 0 {
			r.Cursors[p] = d.uint()
		}
	}
	return r, d.end()
}

func (e *encoder) policy(p *queue.Policy) {
	e.uint(uint64(p.Placement))
	e.uint(uint64(p.MaxAttempts))
	e.uint(p.LeaseMs)
	e.backoff(p.Backoff)
	e.uint(p.TTLMs)
	e.uint(p.RetentionMs)
}

func (d *decoder) policy() queue.Policy {
	return queue.Policy{
		Placement: queue.Placement(d.uint8()), MaxAttempts: d.uint32(), LeaseMs: d.uint(), Backoff: d.backoff(),
		TTLMs: d.uint(), RetentionMs: d.uint(),
	}
}

func encodeMeta(e *encoder, m queue.Meta) {
	e.start()
	e.uint(m.NextBatch)
	e.uint(uint64(m.NextQueue))
}

func decodeMeta(b []byte) (queue.Meta, error) {
	d := decode(b)
	m := queue.Meta{NextBatch: d.uint(), NextQueue: d.uint32()}
	return m, d.end()
}

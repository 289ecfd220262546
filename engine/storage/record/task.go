package record

import (
	"encoding/binary"

	"github.com/pronybench/prony/engine/queue"
)

// The values of the first field of extras.
const (
	noExtras = iota
	someExtras
	uniqueExtras // extras with a unique key, in format 7
	// In format 10:
	groupExtras       // extras with a group
	groupUniqueExtras // extras with a group and a unique key
	onlyGroup         // a group without other extras
	// In format 11, dependsExtras is added to one of the values from someExtras to groupUniqueExtras:
	// extras with dependencies.
	dependsExtras = onlyGroup
)

// extras encodes extras. The parts in parentheses exist if the task has, in this order, extras besides
// the other parts, a unique key, a group, and dependencies:
//
//	kind: see above | (backoff | result retention | expires) | (scope | bucket | hash) | (group: 8 bytes)
//	| (waits: 1 | in a batch: 2 | (id of the batch: 15 bytes))
func (e *Encoder) extras(x *queue.Extras) {
	if x == nil {
		e.uint(noExtras)
		return
	}
	kind, format := uint64(someExtras), byte(Format)
	switch {
	case *x == (queue.Extras{Group: x.Group}):
		e.b[0] = max(e.b[0], formatLimits)
		b := [1 + 8]byte{onlyGroup}
		binary.BigEndian.PutUint64(b[1:], x.Group)
		e.b = append(e.b, b[:]...)
		return
	case x.Group != 0 && x.Unique != nil:
		kind, format = groupUniqueExtras, formatLimits
	case x.Group != 0:
		kind, format = groupExtras, formatLimits
	case x.Unique != nil:
		kind, format = uniqueExtras, formatUnique
	}
	if x.Depends != nil {
		kind, format = kind+dependsExtras, formatDepends
	}
	e.b[0] = max(e.b[0], format)
	e.uint(kind)
	c := x.Shared()
	e.backoff(c.Backoff)
	e.uint(c.RetentionMs)
	e.int(x.ExpiresAtMs)
	if u := x.Unique; u != nil {
		e.uint(uint64(u.Scope))
		e.int(u.Bucket)
		e.b = append(e.b, u.Key[:]...)
	}
	if x.Group != 0 {
		e.b = binary.BigEndian.AppendUint64(e.b, x.Group)
	}
	if x.Depends != nil {
		e.depends(x.Depends)
	}
}

func (d decoder) extras() *queue.Extras {
	kind := d.UpTo(groupUniqueExtras + dependsExtras)
	if kind == noExtras {
		return nil
	}
	depends := kind > onlyGroup
	if depends {
		kind -= dependsExtras
	}
	var x queue.Extras
	var c queue.Common
	if kind != onlyGroup {
		c, x.ExpiresAtMs = queue.Common{Backoff: d.backoff(), RetentionMs: d.Uint()}, d.Int()
	}
	if kind == uniqueExtras || kind == groupUniqueExtras {
		x.Unique = &queue.Unique{Scope: queue.Scope(d.UpTo(uint64(queue.UntilFinished))), Bucket: d.Int()}
		d.Fill(x.Unique.Key[:])
	}
	if kind >= groupExtras {
		var group [8]byte
		d.Fill(group[:])
		x.Group = binary.BigEndian.Uint64(group[:])
	}
	if depends {
		x.Depends = d.depends()
	}
	return queue.NewExtras(x, c)
}

func (e *Encoder) backoff(b queue.Backoff) {
	e.uint(b.InitialMs)
	e.uint(b.MaxMs)
	e.uint(uint64(b.MultiplierPercent))
	e.uint(uint64(b.JitterPercent))
}

func (d decoder) backoff() queue.Backoff {
	return queue.Backoff{InitialMs: d.Uint(), MaxMs: d.Uint(), MultiplierPercent: d.Uint32(), JitterPercent: d.Uint32()}
}

// The flags of a task. flagHeaders is used since format 7.
const (
	flagDelayed = 1 << iota
	flagHeaders
)

// EncodeTask encodes a task:
//
//	format | enqueued | attempts max | lease | flags | extras | payload
//
// The payload begins with the headers in format 5, and since format 7 if flagHeaders is set.
func EncodeTask(e *Encoder, t queue.Task) {
	e.start()
	e.int(t.EnqueuedAtMs)
	e.uint(uint64(t.MaxAttempts))
	e.uint(t.LeaseMs)
	var flags uint64
	if t.Delayed {
		flags = flagDelayed
	}
	if t.HasHeaders {
		e.b[0] = formatHeaders
		if t.Extras != nil && (t.Extras.Unique != nil || t.Extras.Group != 0 || t.Extras.Depends != nil) {
			flags |= flagHeaders
		}
	}
	e.uint(flags)
	e.extras(t.Extras)
	e.b = append(e.b, t.Payload...)
}

// DecodeTask decodes a task. It copies the payload, because b may belong to an iterator.
func DecodeTask(b []byte) (queue.Task, error) {
	t, payload, err := DecodeTaskHead(b)
	if len(payload) > 0 {
		t.Payload = append([]byte(nil), payload...)
	}
	return t, err
}

// DecodeTaskHead decodes a task without its payload. It returns the payload separately, as a
// subslice of b.
func DecodeTaskHead(b []byte) (t queue.Task, payload []byte, err error) {
	d := decode(b)
	t = queue.Task{EnqueuedAtMs: d.Int(), MaxAttempts: d.Uint32(), LeaseMs: d.Uint()}
	flags := d.UpTo(flagDelayed | flagHeaders)
	t.Delayed, t.Extras = flags&flagDelayed != 0, d.extras()
	if t.HasHeaders = d.Format == formatHeaders || flags&flagHeaders != 0; t.HasHeaders && d.Err == nil {
		d.Err = queue.CheckStored(d.Rest)
	}
	if d.Err != nil {
		return t, nil, d.Err
	}
	return t, d.Rest, nil
}

// EncodeUnique encodes the record of a unique key. The bucket and the queue are in its key:
//
//	format | priority | seq | expires | started | payload bytes | due | time to live ends | (priority shift, since format 8) | (dependencies, in format 11)
func EncodeUnique(e *Encoder, k queue.UniqueRef) {
	e.start()
	e.b[0] = formatUnique
	e.uint(uint64(k.Ref.Priority))
	e.uint(k.Ref.Seq)
	e.int(k.ExpiresAtMs)
	e.bool(k.Started)
	e.uint(uint64(k.Bytes))
	e.int(k.DueAtMs)
	e.int(k.EndsAtMs)
	switch {
	case k.Depends != nil:
		e.b[0] = formatDepends
		e.int(int64(k.PriorityShift))
		e.depends(k.Depends)
	case k.PriorityShift != 0:
		e.b[0] = formatShift
		e.int(int64(k.PriorityShift))
	}
}

// DecodeUnique decodes the record of a unique key.
func DecodeUnique(bucket int64, queueID uint32, b []byte) (queue.UniqueRef, error) {
	d := decode(b)
	k := queue.UniqueRef{
		Ref: queue.Ref{Queue: queueID, Priority: d.priority(), Seq: d.Uint()}, Bucket: bucket, ExpiresAtMs: d.Int(),
		Started: d.Bool(), Bytes: d.Uint32(), DueAtMs: d.Int(), EndsAtMs: d.Int(), PriorityShift: d.priorityShift(),
	}
	if d.Format >= formatDepends {
		k.Depends = d.depends()
	}
	return k, d.End()
}

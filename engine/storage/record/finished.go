package record

import (
	"encoding/binary"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

func (e *Encoder) claims(c queue.Claims) {
	e.int(c.FirstMs)
	e.int(c.LastMs)
}

func (d decoder) claims() queue.Claims { return queue.Claims{FirstMs: d.Int(), LastMs: d.Int()} }

// EncodeFinished encodes an entry of a queue's history. The queue is in the key:
//
//	format | priority | seq | priority shift | how | reason | attempts | finished | enqueued | first claim | last claim | headers | error
func EncodeFinished(e *Encoder, f *queue.Finished) {
	e.start()
	e.b[0] = formatHistory
	e.uint(uint64(f.Ref.Priority))
	e.uint(f.Ref.Seq)
	e.int(int64(f.PriorityShift))
	e.uint(uint64(f.How))
	e.uint(uint64(f.Reason))
	e.uint(uint64(f.Attempts))
	e.int(f.FinishedAtMs)
	e.int(f.EnqueuedAtMs)
	e.claims(f.Claims)
	e.text(string(f.Headers))
	e.text(f.LastError)
}

// DecodeFinished decodes an entry of a queue's history.
func DecodeFinished(queueID uint32, b []byte) (queue.Finished, error) {
	d := decode(b)
	f := queue.Finished{Ref: queue.Ref{Queue: queueID, Priority: d.priority(), Seq: d.Uint()}}
	shift := d.Int()
	if to := int64(f.Ref.Priority) + shift; d.Err == nil && (to < 0 || to > queue.MaxPriority) {
		d.Fail(fmt.Errorf("a priority that is changed by %d is out of range", shift))
	}
	f.PriorityShift = int8(shift)
	f.How, f.Reason, f.Attempts = queue.Finish(d.UpTo(uint64(queue.FinishPurged))), queue.Reason(d.Uint8()), d.Uint32()
	f.FinishedAtMs, f.EnqueuedAtMs, f.Claims = d.Int(), d.Int(), d.claims()
	if h := d.Text(); len(h) > 0 {
		if len(h) > queue.HeadersBytesStoredMax {
			d.Fail(fmt.Errorf("headers of %d bytes are out of range", len(h)))
		} else if err := queue.CheckStored(append(binary.BigEndian.AppendUint16(nil, uint16(len(h))), h...)); err != nil {
			d.Fail(err)
		}
		f.Headers = queue.Headers(h)
	}
	f.LastError = d.Text()
	return f, d.End()
}

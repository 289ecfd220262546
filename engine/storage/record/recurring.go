package record

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/schedule"
)

// EncodeRecurring encodes the spec of a recurring task:
//
//	format | cron | interval | time zone | jitter | missed | missed max | overlap
//	| priority | attempts max | lease | time to live | retention | number of headers | (key | value)… | payload
func EncodeRecurring(e *Encoder, s *queue.RecurringSpec) {
	e.start()
	e.text(s.Schedule.Cron)
	e.uint(s.Schedule.EveryMs)
	e.text(s.Schedule.Zone)
	e.uint(s.Schedule.JitterMs)
	e.uint(uint64(s.Missed))
	e.uint(uint64(s.MissedMax))
	e.uint(uint64(s.Overlap))
	t := &s.Template
	e.uint(uint64(t.Priority))
	e.uint(uint64(t.MaxAttempts))
	e.uint(t.LeaseMs)
	e.uint(t.TTLMs)
	e.uint(t.RetentionMs)
	e.uint(uint64(len(t.Headers)))
	for _, key := range slices.Sorted(maps.Keys(t.Headers)) {
		e.text(key)
		e.text(t.Headers[key])
	}
	e.b = append(e.b, t.Payload...)
}

// DecodeRecurring decodes the spec of a recurring task.
func DecodeRecurring(b []byte) (queue.RecurringSpec, error) {
	d := decode(b)
	s := queue.RecurringSpec{
		Schedule: schedule.Spec{Cron: d.Text(), EveryMs: d.Uint(), Zone: d.Text(), JitterMs: d.Uint()},
		Missed:   queue.Missed(d.Uint8()), MissedMax: d.Uint32(), Overlap: queue.Overlap(d.Uint8()),
	}
	t := &s.Template
	t.Priority, t.MaxAttempts, t.LeaseMs, t.TTLMs, t.RetentionMs = d.priority(), d.Uint32(), d.Uint(), d.Uint(), d.Uint()
	n := d.Uint()
	if n > queue.HeadersMax {
		d.Fail(fmt.Errorf("%d headers are out of range", n))
	}
	for i := uint64(0); i < n && d.Err == nil; i++ {
		if t.Headers == nil {
			t.Headers = map[string]string{}
		}
		key := d.Text()
		t.Headers[key] = d.Text()
	}
	if d.Err == nil && len(d.Rest) > 0 {
		t.Payload = append([]byte(nil), d.Rest...)
	}
	return s, d.Err
}

// EncodeRecurringProgress encodes the progress of a recurring task:
//
//	format | after | last task: queue | priority | seq | paused | runs | missed | overlapped | refused
func EncodeRecurringProgress(e *Encoder, p *queue.RecurringProgress) {
	e.start()
	e.int(p.AfterMs)
	e.uint(uint64(p.Last.Queue))
	e.uint(uint64(p.Last.Priority))
	e.uint(p.Last.Seq)
	e.bool(p.Paused)
	e.uint(p.Runs)
	e.uint(p.Missed)
	e.uint(p.Overlapped)
	e.uint(p.Refused)
}

// DecodeRecurringProgress decodes the progress of a recurring task.
func DecodeRecurringProgress(b []byte) (queue.RecurringProgress, error) {
	d := decode(b)
	p := queue.RecurringProgress{
		AfterMs: d.Int(), Last: queue.Ref{Queue: d.Uint32(), Priority: d.priority(), Seq: d.Uint()}, Paused: d.Bool(),
		Runs: d.Uint(), Missed: d.Uint(), Overlapped: d.Uint(), Refused: d.Uint(),
	}
	return p, d.End()
}

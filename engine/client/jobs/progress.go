package jobs

import (
	"context"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

const (
	// noteBytesMax is the server's limit of a note.
	noteBytesMax = 1 << 10
	// noteEvery is the minimum time between two notes of a job. It is also how long a note waits for
	// the next extension of the lease, instead of causing an extension.
	noteEvery = 2 * time.Second
)

// Progress reports the progress of the job with a note, such as "row 5,000 of 12,000". The note
// replaces the last one. The calls GetTask and ListTasks and the command `queued task` show it until
// the job is completed, cancelled or dead.
//
// Progress does not wait. The worker sends the last note with the next extension of the lease, or
// immediately if the next extension is not due soon. It sends at most one note in 2 s, and cuts
// notes to 1 KiB. Without a worker, in a test that calls the handler, Progress does nothing.
func (j *Job[T]) Progress(note string) { j.attempt.setNote(note) }

func (a *attempt) setNote(note string) {
	if a == nil || note == "" {
		return
	}
	note = strings.ToValidUTF8(note[:min(len(note), noteBytesMax)], "")
	a.mu.Lock()
	first := a.note == ""
	a.note = note
	a.mu.Unlock()
	if first {
		select {
		case a.noted <- struct{}{}:
		default:
		}
	}
}

// takeNote returns the note that was not sent yet, or "".
func (a *attempt) takeNote() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	note := a.note
	a.note = ""
	return note
}

// keepNote puts back a note that could not be sent, unless there is a newer one.
func (a *attempt) keepNote(note string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.note == "" {
		a.note = note
	}
}

// untilNote returns the time until the worker sends a new note. due is the time of the next
// extension, and sent the time of the last note.
func untilNote(due, sent time.Time) time.Duration {
	at := time.Now()
	if next := sent.Add(noteEvery); next.After(at) {
		at = next
	}
	if due.Sub(at) < noteEvery {
		at = due
	}
	return time.Until(at)
}

// sendNote sends the last note before a settlement that keeps it.
func (a *attempt) sendNote(ctx context.Context, s *queuepb.Settlement) {
	switch s.GetAction() {
	case queuepb.SettleAction_SETTLE_ACTION_FAIL, queuepb.SettleAction_SETTLE_ACTION_RELEASE:
	default:
		return
	}
	if note := a.takeNote(); note != "" && a.lease > 0 && !s.GetPermanent() {
		a.warn("send a note", a.settle(ctx, a.task, extension(a.lease, note)), about(a.task)...)
	}
}

func extension(lease time.Duration, note string) *queuepb.Settlement {
	return &queuepb.Settlement{Action: queuepb.SettleAction_SETTLE_ACTION_EXTEND, LeaseMs: uint64(lease.Milliseconds()), Error: note}
}

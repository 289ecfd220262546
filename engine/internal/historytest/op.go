// Package historytest records the operations of a queue server's clients, and checks whether a
// correct server may produce such a history.
//
// A Recorder records each call with its times and its outcome. Check checks each guarantee of a
// queue on a whole history. CheckQueue checks whether the calls of a short history of one queue can
// have taken effect one after another.
package historytest

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// Kind is the kind of an operation.
type Kind uint8

// These are the kinds of operations.
const (
	Enqueue Kind = iota + 1
	Claim        // claims one task; Op.Payload is "" if no task was ready
	Complete
	Fail
	Release
	Extend
	Read
)

var kinds = map[Kind]string{
	Enqueue: "enqueue", Claim: "claim", Complete: "complete", Fail: "fail", Release: "release", Extend: "extend", Read: "read",
}

// String returns the kind's name.
func (k Kind) String() string { return kinds[k] }

func (k Kind) ends() bool { return k == Complete || k == Fail || k == Release }

// Outcome is what a client knows of the effect of its call.
type Outcome uint8

// These are the outcomes.
const (
	OK      Outcome = iota + 1
	Refused         // the call had no effect
	Stale           // refused, because the lease has ended or the task does not exist
	Unknown         // the call may or may not have taken effect
)

var outcomes = map[Outcome]string{OK: "ok", Refused: "refused", Stale: "stale", Unknown: "unknown"}

// String returns the outcome's name.
func (o Outcome) String() string { return outcomes[o] }

// Op is one call of a client.
type Op struct {
	Client  int
	Kind    Kind
	Outcome Outcome
	Queue   string
	Payload string // identifies the task, because payloads are unique
	ID      string
	Token   uint64
	Attempt uint32
	// LeaseMs is the lease duration that a claim or an extension requested, in milliseconds.
	LeaseMs int64
	// ExpiresAtMs is the end of a claimed task's lease according to the server's answer.
	ExpiresAtMs int64
	// State is the result of a Read. It is unspecified if the Read found no task.
	State queuepb.TaskState
	// Call and Return are the times of the start and the return of the call, since the recorder was
	// created. An operation with an unknown outcome may take effect after Return.
	Call, Return time.Duration
	// CallMs and ReturnMs are the same times in Unix milliseconds.
	CallMs, ReturnMs int64
	// Note explains the outcome to a human reader.
	Note string
}

// String returns the operation as one line.
func (o Op) String() string {
	text := fmt.Sprintf("%10.4f..%10.4fs client %d: %s %s %s: %s", o.Call.Seconds(), o.Return.Seconds(), o.Client, o.Kind, o.Queue, o.Payload, o.Outcome)
	if o.ID != "" {
		text += " id " + o.ID
	}
	if o.Token != 0 {
		text += fmt.Sprintf(" token %d attempt %d", o.Token, o.Attempt)
	}
	if o.ExpiresAtMs != 0 {
		text += fmt.Sprintf(" granted %d expires %d", o.grantedMs(), o.ExpiresAtMs)
	}
	if o.Kind == Read {
		text += " " + o.State.String()
	}
	if o.Note != "" {
		text += " (" + o.Note + ")"
	}
	return text
}

// grantedMs returns the time when the server granted a claim's lease, by the server's clock.
func (o *Op) grantedMs() int64 { return o.ExpiresAtMs - o.LeaseMs }

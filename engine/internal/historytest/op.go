// Package historytest records what the clients of a queue server saw, and checks whether a correct server may show that.
//
// A Recorder takes down each call with its times and its outcome. Check holds the whole against what a queue
// promises, one promise at a time. CheckQueue asks of a short history of one queue whether its calls can have
// taken effect one after the other.
package historytest

import (
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// Kind is what a client called, or was handed.
type Kind uint8

// The kinds.
const (
	Enqueue Kind = iota + 1
	Claim        // of one task; without a payload none was there
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

// ends reports whether an operation of the kind ends a lease.
func (k Kind) ends() bool { return k == Complete || k == Fail || k == Release }

// Outcome is what a client knows of its call.
type Outcome uint8

// The outcomes.
const (
	OK      Outcome = iota + 1
	Refused         // nothing was done
	Stale           // refused since the lease is over, or the task gone
	Unknown         // it may or may not have taken effect
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
	Payload string // names the task: no two have the same
	ID      string
	Token   uint64
	Attempt uint32
	// LeaseMs is the lease that a claim or an extension asked for.
	LeaseMs int64
	// ExpiresAtMs is when the lease of a claimed task ends, as the server said.
	ExpiresAtMs int64
	// State is what a Read found; unspecified when it found nothing.
	State queuepb.TaskState
	// Call and Return are since the recorder was made. Nothing is known of an unknown outcome after its Return.
	Call, Return time.Duration
	// CallMs and ReturnMs are the same, in Unix milliseconds.
	CallMs, ReturnMs int64
	// Note says more of an outcome, for the reader.
	Note string
}

// String shows the operation in one line.
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

// grantedMs is when the server granted a claim's lease, by its clock.
func (o *Op) grantedMs() int64 { return o.ExpiresAtMs - o.LeaseMs }

package history

import (
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/pronybench/prony/engine/queuepb"
)

// Verdict is what CheckQueue found.
type Verdict string

// The verdicts.
const (
	Linearizable    Verdict = "linearizable"
	NotLinearizable Verdict = "not linearizable"
	Undecided       Verdict = "undecided" // the time was over
)

// CheckQueue says whether the calls on one queue of one shard can have taken effect one after the other, each between
// its call and its return. It takes at most about limit. Claims are of one task, and of tasks of one priority.
// Extensions are not in the model: leave histories with them to Check.
func CheckQueue(ops []Op, skewMs int64, limit time.Duration) Verdict {
	var in []porcupine.Operation
	for _, o := range ops {
		returned := o.Return.Nanoseconds()
		switch o.Outcome {
		case Refused: // nothing was done
			continue
		case Unknown:
			if o.Kind == Read {
				continue
			}
			returned = math.MaxInt64
		case OK, Stale:
		}
		in = append(in, porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call.Nanoseconds(), Return: returned})
	}
	m := model{skewMs: skewMs}
	switch porcupine.CheckOperationsTimeout(m.porcupine(), in, limit) {
	case porcupine.Ok:
		return Linearizable
	case porcupine.Illegal:
		return NotLinearizable
	case porcupine.Unknown:
	}
	return Undecided
}

// held is a task that a queue holds.
type held struct {
	payload string
	phase   phase
	token   uint64 // of the last lease; 0 when nobody knows it
	// expiresMs is when the lease ends; of one that nobody knows, the earliest moment.
	expiresMs int64
}

type phase uint8

const (
	fresh    phase = iota // never leased
	returned              // leased before, and ready
	waiting               // leased before, and ready at some time
	leased
)

// contents is a queue in the order of its enqueues. It is never changed, only replaced.
type contents []held

type model struct{ skewMs int64 }

func (m model) porcupine() porcupine.Model {
	nondeterministic := porcupine.NondeterministicModel{
		Init: func() []any { return []any{contents(nil)} },
		Step: func(state, input, _ any) []any {
			op := input.(Op)
			return m.step(state.(contents), &op)
		},
		Equal: func(a, b any) bool { return slices.Equal(a.(contents), b.(contents)) },
	}
	return nondeterministic.ToModel()
}

// step returns what the queue may hold after an operation; nothing when the operation can't have been.
func (m model) step(q contents, o *Op) []any {
	i := slices.IndexFunc(q, func(h held) bool { return h.payload == o.Payload })
	switch o.Kind {
	case Enqueue:
		return one(append(slices.Clone(q), held{payload: o.Payload}))
	case Claim:
		return m.claim(q, i, o)
	case Read:
		if m.reads(q, i, o) {
			return one(q)
		}
		return nil
	case Complete, Fail, Release, Extend:
		return m.settle(q, i, o)
	}
	return nil
}

func (m model) claim(q contents, i int, o *Op) []any {
	switch {
	case o.Outcome == Unknown:
		return m.claimUnknown(q, o)
	case o.Payload == "":
		if slices.ContainsFunc(q, func(h held) bool { return h.phase == fresh || h.phase == returned }) {
			return nil
		}
		return one(q)
	case i < 0 || !m.claimable(q, i, o.grantedMs()) || o.Token <= q[i].token:
		return nil
	}
	return one(q.with(i, held{o.Payload, leased, o.Token, o.ExpiresAtMs}))
}

// claimUnknown is a claim whose caller never learnt what it got.
func (m model) claimUnknown(q contents, o *Op) []any {
	out := one(q)
	for i := range q {
		if m.claimable(q, i, math.MaxInt64) {
			out = append(out, q.with(i, held{q[i].payload, leased, 0, max(q[i].expiresMs, o.CallMs) + o.LeaseMs}))
		}
	}
	return out
}

// claimable tells whether a claim can have got a task at some time: of the fresh ones, the first only.
func (m model) claimable(q contents, i int, atMs int64) bool {
	switch q[i].phase {
	case fresh:
		return !slices.ContainsFunc(q[:i], func(h held) bool { return h.phase == fresh })
	case leased:
		return q[i].expiresMs-m.skewMs <= atMs
	case returned, waiting:
	}
	return true
}

func (m model) settle(q contents, i int, o *Op) []any {
	current := i >= 0 && q[i].phase == leased && q[i].token == o.Token
	switch o.Outcome {
	case Stale:
		if current && o.ReturnMs < q[i].expiresMs-m.skewMs {
			return nil
		}
		return one(q)
	case Unknown:
		if !current {
			return one(q)
		}
	case OK, Refused:
		if !current {
			return nil
		}
	}
	switch o.Kind {
	case Complete:
		return one(slices.Delete(slices.Clone(q), i, i+1))
	case Fail:
		return one(q.with(i, held{q[i].payload, waiting, q[i].token, 0}))
	case Release:
		return one(q.with(i, held{q[i].payload, returned, q[i].token, 0}))
	case Enqueue, Claim, Extend, Read:
	}
	return nil
}

// reads tells whether a reader can have seen what it saw.
func (m model) reads(q contents, i int, o *Op) bool {
	if i < 0 || o.State == queuepb.TaskState_TASK_STATE_UNSPECIFIED {
		return i < 0 && o.State == queuepb.TaskState_TASK_STATE_UNSPECIFIED
	}
	switch o.State {
	case queuepb.TaskState_TASK_STATE_READY:
		return q[i].phase != leased || q[i].expiresMs-m.skewMs <= o.ReturnMs
	case queuepb.TaskState_TASK_STATE_DELAYED:
		return q[i].phase == waiting
	case queuepb.TaskState_TASK_STATE_LEASED:
		return q[i].phase == leased
	case queuepb.TaskState_TASK_STATE_UNSPECIFIED, queuepb.TaskState_TASK_STATE_DONE, queuepb.TaskState_TASK_STATE_DEAD:
	}
	return false
}

func (q contents) with(i int, h held) contents {
	out := slices.Clone(q)
	out[i] = h
	return out
}

func one(q contents) []any { return []any{q} }

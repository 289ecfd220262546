package historytest

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/pronybench/prony/engine/queuepb"
)

// Verdict is the result of CheckQueue.
type Verdict string

// These are the verdicts.
const (
	Linearizable    Verdict = "linearizable"
	NotLinearizable Verdict = "not linearizable"
	// Undecided means that the time limit was reached or the number of possible states was too
	// large.
	Undecided Verdict = "undecided"
)

// CheckQueue reports whether the calls on one queue of one shard can have taken effect one after
// another, each of them between its start and its return. It takes approximately limit or less.
// Each claim must be for one task, and all tasks must have the same priority. The model does not
// support extensions of leases: use Check for histories that contain them.
func CheckQueue(ops []Op, skewMs int64, limit time.Duration) Verdict {
	var in []porcupine.Operation
	for _, o := range ops {
		returned := o.Return.Nanoseconds()
		switch o.Outcome {
		case Refused: // the call had no effect
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
	result := porcupine.CheckOperationsTimeout(m.porcupine(), in, limit)
	switch {
	case m.tooMany.Load():
	case result == porcupine.Ok:
		return Linearizable
	case result == porcupine.Illegal:
		return NotLinearizable
	}
	return Undecided
}

// held is the state of a task in a queue.
type held struct {
	payload string
	phase   phase
	token   uint64 // token of the last lease; 0 if no client knows it
	// expiresMs is the end of the lease in Unix milliseconds. If no client knows the lease, it is
	// the earliest possible end.
	expiresMs int64
}

type phase uint8

const (
	fresh    phase = iota // the task was never leased
	returned              // the task was leased before and is ready now
	waiting               // the task was leased before and becomes ready at an unknown time
	leased
)

// contents is the list of the tasks in a queue, in the order of their enqueues. It is
// immutable.
type contents []held

// model computes the possible contents of one queue after each operation.
type model struct {
	skewMs  int64
	tooMany atomic.Bool // true if the number of possible contents has exceeded possibleMax
}

// possible is one of the possible contents of a queue, together with its unique key.
type possible struct {
	key string
	q   contents
}

// possibleMax is the maximum number of possible contents after an operation. Each call with an
// unknown outcome multiplies their number.
const possibleMax = 1_000

func (m *model) porcupine() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return []possible{{}} },
		Step: func(state, input, _ any) (bool, any) {
			op := input.(Op)
			next := m.after(state.([]possible), &op)
			return len(next) > 0, next
		},
		Equal: func(a, b any) bool {
			return slices.EqualFunc(a.([]possible), b.([]possible), func(a, b possible) bool { return a.key == b.key })
		},
		Hash: func(state any) uint64 {
			h := fnv.New64a()
			for _, p := range state.([]possible) {
				_, _ = h.Write([]byte(p.key)) // never fails
			}
			return h.Sum64()
		},
	}
}

// after returns the possible contents after an operation, sorted by key. It returns nil if there
// are too many.
func (m *model) after(before []possible, o *Op) []possible {
	found := map[string]contents{}
	for _, p := range before {
		for _, q := range m.step(p.q, o) {
			found[q.key()] = q
		}
	}
	if len(found) > possibleMax {
		m.tooMany.Store(true)
	}
	if m.tooMany.Load() {
		return nil
	}
	out := make([]possible, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		out = append(out, possible{key, found[key]})
	}
	return out
}

// key returns a text that differs for different contents.
func (q contents) key() string {
	var b []byte
	for _, h := range q {
		b = binary.AppendUvarint(b, uint64(len(h.payload)))
		b = append(append(b, h.payload...), byte(h.phase))
		b = binary.BigEndian.AppendUint64(b, h.token)
		b = binary.BigEndian.AppendUint64(b, uint64(h.expiresMs))
	}
	return string(b)
}

// step returns the possible contents after an operation, or nil if the operation is impossible.
func (m *model) step(q contents, o *Op) []contents {
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

func (m *model) claim(q contents, i int, o *Op) []contents {
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

// claimUnknown returns the possible contents after a claim whose caller does not know the claim's
// result.
func (m *model) claimUnknown(q contents, o *Op) []contents {
	out := one(q)
	for i := range q {
		if m.claimable(q, i, math.MaxInt64) {
			out = append(out, q.with(i, held{q[i].payload, leased, 0, max(q[i].expiresMs, o.CallMs) + o.LeaseMs}))
		}
	}
	return out
}

// claimable reports whether a claim can have leased the i-th task at the given time. Of the tasks
// that were never leased, only the first can be claimed.
func (m *model) claimable(q contents, i int, atMs int64) bool {
	switch q[i].phase {
	case fresh:
		return !slices.ContainsFunc(q[:i], func(h held) bool { return h.phase == fresh })
	case leased:
		return q[i].expiresMs-m.skewMs <= atMs
	case returned, waiting:
	}
	return true
}

func (m *model) settle(q contents, i int, o *Op) []contents {
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

func (m *model) reads(q contents, i int, o *Op) bool {
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

func one(q contents) []contents { return []contents{q} }

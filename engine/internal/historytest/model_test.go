package historytest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queuepb"
)

// patience bounds the time of a check.
const patience = waittest.Most

func enqueueOf(ms int64, payload string) Op {
	return at(ms, Op{Kind: Enqueue, Payload: payload, ID: payload})
}

func claimOf(ms int64, payload string, token uint64) Op {
	o := grant(ms, token, 1)
	o.Payload, o.ID = payload, payload
	return o
}

func settleOf(ms int64, kind Kind, payload string, token uint64, outcome Outcome) Op {
	o := settle(ms, kind, token, outcome)
	o.Payload, o.ID = payload, payload
	return o
}

func readOf(ms int64, state queuepb.TaskState) Op {
	return at(ms, Op{Kind: Read, Payload: "a", ID: "a", State: state})
}

// empty returns a claim that got no task.
func empty(ms int64) Op {
	o := at(ms, Op{Kind: Claim, LeaseMs: 100})
	o.Payload = ""
	return o
}

// long returns an operation with a later return.
func long(o Op, ms int64) Op {
	o.ReturnMs += ms
	o.Return += time.Duration(ms) * time.Millisecond
	return o
}

func unknown(o Op) Op {
	o.Outcome = Unknown
	return o
}

const (
	nothing = queuepb.TaskState_TASK_STATE_UNSPECIFIED
	ready   = queuepb.TaskState_TASK_STATE_READY
	inLease = queuepb.TaskState_TASK_STATE_LEASED
	delayed = queuepb.TaskState_TASK_STATE_DELAYED
)

func TestHistoriesOfOneQueue(t *testing.T) {
	lost := at(5, Op{Kind: Claim, LeaseMs: 100, Outcome: Unknown})
	lost.Payload = ""
	for name, c := range map[string]struct {
		want Verdict
		ops  []Op
	}{
		"a cycle":                                              {Linearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Complete, "a", 1, OK), readOf(30, nothing)}},
		"two claims":                                           {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), claimOf(20, "a", 2)}},
		"two claims, the second after expiry":                  {Linearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), claimOf(110, "a", 2)}},
		"the same token":                                       {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), claimOf(110, "a", 1)}},
		"claimed before its enqueue":                           {NotLinearizable, []Op{claimOf(10, "a", 1), enqueueOf(20, "a")}},
		"claimed during its enqueue":                           {Linearizable, []Op{claimOf(10, "a", 1), long(enqueueOf(5, "a"), 20)}},
		"completed twice":                                      {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Complete, "a", 1, OK), settleOf(30, Complete, "a", 1, OK)}},
		"lost":                                                 {NotLinearizable, []Op{enqueueOf(0, "a"), empty(10)}},
		"an empty claim during the enqueue":                    {Linearizable, []Op{long(enqueueOf(0, "a"), 20), empty(10), claimOf(30, "a", 1)}},
		"out of order":                                         {NotLinearizable, []Op{enqueueOf(0, "a"), enqueueOf(10, "b"), claimOf(20, "b", 1), claimOf(30, "a", 2)}},
		"concurrent enqueues in either order":                  {Linearizable, []Op{long(enqueueOf(0, "a"), 20), enqueueOf(10, "b"), claimOf(30, "b", 1), claimOf(40, "a", 2)}},
		"failed and claimed again":                             {Linearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Fail, "a", 1, OK), readOf(22, delayed), empty(24), claimOf(30, "a", 2)}},
		"released and lost":                                    {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Release, "a", 1, OK), empty(24)}},
		"released and claimed again":                           {Linearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Release, "a", 1, OK), readOf(22, ready), claimOf(30, "a", 2)}},
		"a valid lease refused as stale":                       {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Complete, "a", 1, Stale)}},
		"an expired lease refused as stale":                    {Linearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(109, Complete, "a", 1, Stale)}},
		"a stale read":                                         {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), readOf(20, ready)}},
		"a read of a completed task":                           {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Complete, "a", 1, OK), readOf(30, inLease)}},
		"a read misses a task":                                 {NotLinearizable, []Op{enqueueOf(0, "a"), readOf(10, nothing)}},
		"an unknown enqueue with effect":                       {Linearizable, []Op{unknown(enqueueOf(0, "a")), empty(10), claimOf(30, "a", 1)}},
		"an unknown enqueue without effect":                    {Linearizable, []Op{unknown(enqueueOf(0, "a")), empty(10)}},
		"an unknown completion with effect":                    {Linearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Complete, "a", 1, Unknown), readOf(30, nothing)}},
		"an unknown completion without effect":                 {Linearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Complete, "a", 1, Unknown), claimOf(110, "a", 2)}},
		"an unknown completion with and without effect":        {NotLinearizable, []Op{enqueueOf(0, "a"), claimOf(10, "a", 1), settleOf(20, Complete, "a", 1, Unknown), readOf(30, nothing), claimOf(110, "a", 2)}},
		"an unknown claim with effect":                         {Linearizable, []Op{enqueueOf(0, "a"), lost, empty(10), claimOf(110, "a", 2)}},
		"an unknown claim with effect, leased again too early": {NotLinearizable, []Op{enqueueOf(0, "a"), lost, empty(10), claimOf(90, "a", 2)}},
		"an unknown claim without effect":                      {Linearizable, []Op{enqueueOf(0, "a"), lost, claimOf(10, "a", 2)}},
		"a refused call":                                       {Linearizable, []Op{at(0, Op{Kind: Enqueue, Payload: "a", Outcome: Refused}), empty(10)}},
	} {
		assert.Equal(t, c.want, CheckQueue(c.ops, 0, patience), name)
	}
}

// TestAQueueOfOneLockIsLinearizable generates histories of several clients and a queue that
// executes one call at a time, between its call and its return. Then it corrupts one claim.
func TestAQueueOfOneLockIsLinearizable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ops []Op
		var queued, out []string
		tokens := map[string]uint64{}
		token := uint64(0)
		for i := range rapid.IntRange(1, 40).Draw(t, "ops") {
			ms := int64(10 * i) // the call takes effect here
			var o Op
			switch pick := rapid.IntRange(0, 3).Draw(t, "kind"); {
			case pick == 0:
				payload := fmt.Sprint(i)
				queued = append(queued, payload)
				o = enqueueOf(ms, payload)
			case pick == 1 && len(queued) > 0:
				token++
				tokens[queued[0]] = token
				o = claimOf(ms, queued[0], token)
				o.ExpiresAtMs, o.LeaseMs = ms+100_000, 100_000
				out, queued = append(out, queued[0]), queued[1:]
			case pick == 1:
				o = empty(ms)
			case pick == 2 && len(out) > 0:
				o = settleOf(ms, Complete, out[0], tokens[out[0]], OK)
				out = out[1:]
			default:
				continue
			}
			before, after := rapid.Int64Range(0, 30).Draw(t, "before"), rapid.Int64Range(0, 30).Draw(t, "after")
			o.Call -= time.Duration(before) * time.Millisecond
			if rapid.IntRange(0, 9).Draw(t, "lost answer") == 0 && o.Kind != Claim {
				o.Outcome = Unknown
			}
			ops = append(ops, long(o, after))
		}
		if got := CheckQueue(ops, 0, patience); got == NotLinearizable {
			t.Fatalf("%s: %v", got, ops)
		}
		for _, o := range ops {
			if o.Kind == Claim && o.Payload != "" {
				again := o
				again.Token, again.Client = token+1, 9
				again.Call, again.Return = again.Return+1, again.Return+2
				if got := CheckQueue(append(ops, again), 0, patience); got == Linearizable {
					t.Fatalf("a second claim is not detected: %v in %v", again, ops)
				}
				break
			}
		}
	})
}

func TestATimeLimitIsKept(t *testing.T) {
	var ops []Op
	for i := range 40 { // concurrent calls, and an impossible one
		ops = append(ops, long(enqueueOf(0, fmt.Sprint(i)), 1000))
	}
	ops = append(ops, long(claimOf(0, "never", 1), 1000))
	began := time.Now()
	assert.Equal(t, Undecided, CheckQueue(ops, 0, 100*time.Millisecond))
	assert.Less(t, time.Since(began), patience)
}

package historytest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// at returns an operation that was called at a millisecond and returned at the next.
func at(ms int64, o Op) Op {
	o.Call, o.Return = time.Duration(ms)*time.Millisecond, time.Duration(ms+1)*time.Millisecond
	o.CallMs, o.ReturnMs = ms, ms+1
	if o.Outcome == 0 {
		o.Outcome = OK
	}
	if o.Queue == "" {
		o.Queue = "q"
	}
	if o.Payload == "" {
		o.Payload = "p"
	}
	return o
}

// grant returns a claim at a millisecond with a lease of 100 ms.
func grant(ms int64, token uint64, attempt uint32) Op {
	return at(ms, Op{Kind: Claim, ID: "1", Token: token, Attempt: attempt, LeaseMs: 100, ExpiresAtMs: ms + 100})
}

func settle(ms int64, kind Kind, token uint64, outcome Outcome) Op {
	return at(ms, Op{Kind: kind, ID: "1", Token: token, Outcome: outcome})
}

func TestWhatAQueueMayDo(t *testing.T) {
	enqueued := at(0, Op{Kind: Enqueue, ID: "1"})
	extended := at(80, Op{Kind: Extend, ID: "1", Token: 5, LeaseMs: 100})
	for name, ops := range map[string][]Op{
		"a cycle":                              {enqueued, grant(10, 5, 1), settle(20, Complete, 5, OK)},
		"an unknown enqueue without effect":    {at(0, Op{Kind: Enqueue, Outcome: Unknown})},
		"an unknown enqueue with effect":       {at(0, Op{Kind: Enqueue, Outcome: Unknown}), grant(10, 5, 1), settle(20, Complete, 5, OK)},
		"an unknown completion":                {enqueued, grant(10, 5, 1), settle(20, Complete, 5, Unknown)},
		"an unknown completion without effect": {enqueued, grant(10, 5, 1), settle(20, Complete, 5, Unknown), grant(110, 6, 2), settle(120, Complete, 6, OK)},
		"an expired lease":                     {enqueued, grant(10, 5, 1), grant(110, 6, 2), settle(120, Complete, 5, Stale), settle(130, Complete, 6, OK)},
		"a repeated completion":                {enqueued, grant(10, 5, 1), settle(20, Complete, 5, Unknown), settle(30, Complete, 5, Stale)},
		"a late extension":                     {enqueued, grant(10, 5, 1), extended, settle(190, Complete, 5, Stale), grant(195, 6, 2), settle(196, Complete, 6, OK)},
		"a failed task":                        {enqueued, grant(10, 5, 1), settle(20, Fail, 5, OK), grant(22, 6, 2), settle(130, Complete, 6, OK)},
		"an unknown release":                   {enqueued, grant(10, 5, 1), settle(20, Release, 5, Unknown), grant(22, 6, 1), settle(130, Complete, 6, OK)},
		"an extension":                         {enqueued, grant(10, 5, 1), extended, grant(185, 6, 2), settle(190, Complete, 6, OK)},
		"a late arrival":                       {enqueued, grant(110, 6, 2), settle(120, Complete, 6, OK), grant(10, 5, 1)},
		"refused and absent":                   {at(0, Op{Kind: Enqueue, Outcome: Refused})},
	} {
		assert.Empty(t, Check(ops, Rules{}), name)
	}
	assert.Empty(t, Check([]Op{enqueued}, Rules{Left: map[string]bool{"p": true}}))
}

func TestWhatAQueueMayNotDo(t *testing.T) {
	enqueued := at(0, Op{Kind: Enqueue, ID: "1"})
	other := func(o Op) Op { o.ID = "2"; return o }
	for name, c := range map[string]struct {
		ops  []Op
		want string
	}{
		"lost":              {[]Op{enqueued}, "p was acknowledged and is lost"},
		"lost while leased": {[]Op{enqueued, grant(10, 5, 1)}, "is lost"},
		"lost after a refused completion": {
			[]Op{enqueued, grant(10, 5, 1), settle(20, Complete, 5, Stale)}, "is lost",
		},
		"invented":                    {[]Op{grant(10, 5, 1), settle(20, Complete, 5, OK)}, "p was never enqueued"},
		"refused":                     {[]Op{at(0, Op{Kind: Enqueue, Outcome: Refused}), grant(10, 5, 1)}, "its enqueue was refused"},
		"completed twice":             {[]Op{enqueued, grant(10, 5, 1), settle(20, Complete, 5, OK), grant(200, 6, 2), settle(220, Complete, 6, OK)}, "completed 2 times"},
		"two tasks":                   {[]Op{enqueued, grant(10, 5, 1), settle(20, Complete, 5, OK), other(grant(10, 5, 1))}, "p has 2 ids"},
		"settled twice":               {[]Op{enqueued, grant(10, 5, 1), settle(20, Fail, 5, OK), settle(20, Complete, 5, OK)}, "one lease was settled twice"},
		"leased after its completion": {[]Op{enqueued, grant(10, 5, 1), settle(20, Complete, 5, OK), grant(200, 6, 2)}, "completed and leased again"},
		"one token twice":             {[]Op{enqueued, grant(10, 5, 1), grant(200, 5, 2), settle(220, Complete, 5, OK)}, "the same token twice"},
		"a smaller token":             {[]Op{enqueued, grant(10, 6, 1), grant(200, 5, 2), settle(220, Complete, 5, OK)}, "greater token belongs to the earlier lease"},
		"fewer attempts":              {[]Op{enqueued, grant(10, 5, 2), grant(200, 6, 1), settle(220, Complete, 6, OK)}, "earlier attempt"},
		"leased to two":               {[]Op{enqueued, grant(10, 5, 1), grant(109, 6, 2), settle(120, Complete, 6, OK)}, "leased again 1 ms before its lease expired"},
		"leased to two, and one settlement is unknown": {
			[]Op{enqueued, grant(10, 5, 1), grant(50, 6, 2), settle(60, Fail, 5, Unknown), settle(120, Complete, 6, OK)}, "leased again 60 ms before",
		},
		"leased although extended": {
			[]Op{enqueued, grant(10, 5, 1), at(80, Op{Kind: Extend, ID: "1", Token: 5, LeaseMs: 100}), grant(111, 6, 2), settle(120, Complete, 6, OK)},
			"leased again 69 ms before",
		},
		"refused as stale": {
			[]Op{enqueued, grant(10, 5, 1), settle(20, Complete, 5, Stale), settle(30, Complete, 5, OK)}, "a valid lease was refused as stale",
		},
		"an extension that was refused as stale": {
			[]Op{enqueued, grant(10, 5, 1), settle(20, Extend, 5, Stale), settle(30, Complete, 5, Unknown)}, "a valid lease was refused as stale",
		},
		"an earlier lease is not fenced off": {[]Op{enqueued, grant(10, 5, 1), grant(110, 6, 2), settle(120, Extend, 5, OK), settle(130, Complete, 6, OK)}, "an earlier lease was settled"},
	} {
		problems := Check(c.ops, Rules{})
		require.NotEmpty(t, problems, name)
		assert.Contains(t, fmt.Sprint(problems), c.want, name)
	}
	assert.NotEmpty(t, Check([]Op{at(0, Op{Kind: Enqueue, Outcome: Refused})}, Rules{Left: map[string]bool{"p": true}}))
}

func TestClocksMayDiffer(t *testing.T) {
	ops := []Op{at(0, Op{Kind: Enqueue, ID: "1"}), grant(10, 5, 1), grant(101, 6, 2), settle(120, Complete, 6, OK)}
	assert.NotEmpty(t, Check(ops, Rules{SkewMs: 8}))
	assert.Empty(t, Check(ops, Rules{SkewMs: 9}))
}

func TestARecorderKeepsTimesAndOrder(t *testing.T) {
	r := NewRecorder()
	first := r.Call(Op{Kind: Enqueue, Payload: "a"})
	r.Call(Op{Kind: Claim, Payload: "b"})(func(o *Op) { o.Outcome = OK })
	assert.Len(t, r.Ops(), 1, "a call without an outcome is not in the history")
	first(func(o *Op) { o.Outcome = Unknown })
	ops := r.Ops()
	require.Len(t, ops, 2)
	assert.Equal(t, "b", ops[0].Payload)
	assert.Equal(t, "a", ops[1].Payload)
	assert.LessOrEqual(t, ops[1].Call, ops[0].Call)
	assert.LessOrEqual(t, ops[0].Return, ops[1].Return)
	assert.InDelta(t, time.Now().UnixMilli(), ops[1].ReturnMs, 60_000)
	assert.Equal(t, 1, r.Count(Enqueue, Unknown))
	assert.Equal(t, 0, r.Count(Enqueue, OK))
}

package queue

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("q%d", i)
	}
	return out
}

func TestLimitsNameTheFieldThatIsNotAccepted(t *testing.T) {
	l := DefaultLimits()
	task := func(change func(*NewTask)) *FieldError {
		n := NewTask{Queue: "q"}
		change(&n)
		return l.CheckTask(0, &n, 0)
	}
	settle := func(change func(*Settlement)) *FieldError {
		s := Settlement{Token: 1, Action: Complete}
		change(&s)
		return l.CheckSettlement(&s)
	}
	for _, c := range []struct {
		name    string
		err     *FieldError
		field   string // "" means accepted
		problem string // a part of it
	}{
		{"plain task", task(func(*NewTask) {}), "", ""},
		{"all fields at their limits", l.CheckTask(0, &NewTask{
			Queue: strings.Repeat("q", NameMax), Payload: make([]byte, l.PayloadBytesMax),
			DelayMs: l.DelayMsMax, MaxAttempts: l.AttemptsMax, LeaseMs: l.LeaseMsMax,
		}, MaxPriority), "", ""},
		{"no queue", task(func(n *NewTask) { n.Queue = "" }), "queue", "is empty"},
		{"long queue", task(func(n *NewTask) { n.Queue = strings.Repeat("q", NameMax+1) }), "queue", "has 129 bytes: use at most 128"},
		{"queue with a space", task(func(n *NewTask) { n.Queue = "a b" }), "queue", `"a b"`},
		{"queue not UTF-8", task(func(n *NewTask) { n.Queue = "a\xff" }), "queue", "UTF-8"},
		{"queue with a letter beyond ASCII", task(func(n *NewTask) { n.Queue = "é" }), "queue", "use letters"},
		{"priority", l.CheckTask(0, &NewTask{Queue: "q"}, MaxPriority+1), "priority", "10 is not 0 to 9"},
		{"priority that wraps as a byte", l.CheckTask(0, &NewTask{Queue: "q"}, 256), "priority", "256"},
		{"payload", task(func(n *NewTask) { n.Payload = make([]byte, l.PayloadBytesMax+1) }), "payload", "1048577"},
		{"delay", task(func(n *NewTask) { n.DelayMs = l.DelayMsMax + 1 }), "delay_ms", "is above"},
		{"attempts", task(func(n *NewTask) { n.MaxAttempts = l.AttemptsMax + 1 }), "max_attempts", "1001 is above 1000"},
		{"lease", task(func(n *NewTask) { n.LeaseMs = l.LeaseMsMax + 1 }), "lease_ms", "is above"},

		{"not before, negative", task(func(n *NewTask) { n.NotBeforeMs = -1 }), "not_before_ms", "-1 is negative"},
		{"not before, with a delay", task(func(n *NewTask) { n.NotBeforeMs, n.DelayMs = 1, 1 }), "not_before_ms", "together with delay_ms"},
		{"not before, far off", task(func(n *NewTask) { n.NotBeforeMs = int64(l.DelayMsMax) + 1 }), "not_before_ms", "from now"},
		{"not before, as far as allowed", task(func(n *NewTask) { n.NotBeforeMs = int64(l.DelayMsMax) }), "", ""},
		{"time to live", task(func(n *NewTask) { n.TTLMs = l.TTLMsMax + 1 }), "ttl_ms", "is above"},
		{"time to live that wraps", task(func(n *NewTask) { n.TTLMs = 1 << 40 }), "ttl_ms", "is above"},
		{"retention", task(func(n *NewTask) { n.RetentionMs = l.RetentionMsMax + 1 }), "result_retention_ms", "is above"},
		{"long key", task(func(n *NewTask) { n.Key = strings.Repeat("k", NameMax+1) }), "idempotency_key", "has 129 bytes"},
		{"key not UTF-8", task(func(n *NewTask) { n.Key = "\xff" }), "idempotency_key", "UTF-8"},
		{"backoff, initial", task(func(n *NewTask) { n.Backoff.InitialMs = l.DelayMsMax + 1 }), "backoff.initial_ms", "is above"},
		{"backoff, most", task(func(n *NewTask) { n.Backoff.MaxMs = l.DelayMsMax + 1 }), "backoff.max_ms", "is above"},
		{"backoff, initial above most", task(func(n *NewTask) { n.Backoff = Backoff{InitialMs: 2, MaxMs: 1} }), "backoff.initial_ms", "above max_ms"},
		{"backoff, small multiplier", task(func(n *NewTask) { n.Backoff.MultiplierPercent = 99 }), "backoff.multiplier_percent", "99 is not 100 to 1000"},
		{"backoff, large multiplier", task(func(n *NewTask) { n.Backoff.MultiplierPercent = 1_001 }), "backoff.multiplier_percent", "1001"},
		{"backoff, jitter", task(func(n *NewTask) { n.Backoff.JitterPercent = 101 }), "backoff.jitter_percent", "101 is above 100"},
		{"lease beside a backoff", task(func(n *NewTask) { n.Backoff.InitialMs, n.LeaseMs = 1, l.LeaseMsMax+1 }), "lease_ms", "is above"},
		{"placement", l.CheckPolicy(&Policy{Placement: Ordered + 1}), "placement", "SPREAD or ORDERED"},
		{"policy", l.CheckPolicy(&Policy{Placement: Ordered, TTLMs: 1, RetentionMs: 1}), "", ""},
		{"weights", l.CheckClaim([]string{"a", "b"}, []uint32{1, WeightMax}, 0), "", ""},
		{"too few weights", l.CheckClaim([]string{"a", "b"}, []uint32{1}, 0), "weights", "1 entries for 2 queues"},
		{"a weight of zero", l.CheckClaim([]string{"a", "b"}, []uint32{1, 0}, 0), "weights[1]", "0 is not 1 to 100"},
		{"a large weight", l.CheckClaim([]string{"a"}, []uint32{101}, 0), "weights[0]", "101"},

		{"claim", l.CheckClaim([]string{"a", "b"}, nil, 0), "", ""},
		{"claim of as many queues as allowed", l.CheckClaim(names(l.QueuesMax), nil, l.LeaseMsMax), "", ""},
		{"claim of nothing", l.CheckClaim(nil, nil, 0), "queues", "is empty"},
		{"claim of too many queues", l.CheckClaim(names(l.QueuesMax+1), nil, 0), "queues", "names 101 queues"},
		{"claim with a bad name", l.CheckClaim([]string{"a", ""}, nil, 0), "queues[1]", "is empty"},
		{"claim of one queue twice", l.CheckClaim([]string{"a", "b", "a"}, nil, 0), "queues[2]", "named twice"},
		{"claim with a long lease", l.CheckClaim([]string{"a"}, nil, l.LeaseMsMax+1), "lease_ms", "is above"},

		{"batch", l.CheckBatch("tasks", l.BatchMax), "", ""},
		{"empty batch", l.CheckBatch("tasks", 0), "tasks", "is empty"},
		{"large batch", l.CheckBatch("tasks", l.BatchMax+1), "tasks", "has 1001 items"},

		{"settlement", settle(func(*Settlement) {}), "", ""},
		{"no token", settle(func(s *Settlement) { s.Token = 0 }), "token", "is 0"},
		{"long error", settle(func(s *Settlement) { s.Error = strings.Repeat("e", l.ErrorBytesMax+1) }), "error", "4097"},
		{"result", settle(func(s *Settlement) { s.Result = make([]byte, l.ResultBytesMax+1) }), "result", "262145"},
		{"error not UTF-8", settle(func(s *Settlement) { s.Error = "\xff" }), "error", "UTF-8"},
		{"long delay", settle(func(s *Settlement) { s.DelayMs = l.DelayMsMax + 1 }), "delay_ms", "is above"},
		{"extension by nothing", settle(func(s *Settlement) { s.Action = Extend }), "lease_ms", "is 0"},
		{"long extension", settle(func(s *Settlement) { s.Action, s.LeaseMs = Extend, l.LeaseMsMax+1 }), "lease_ms", "is above"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.field == "" {
				require.Nil(t, c.err)
				return
			}
			require.NotNil(t, c.err)
			assert.Equal(t, c.field, c.err.Field)
			assert.Contains(t, c.err.Problem, c.problem)
			assert.Equal(t, c.err.Field+": "+c.err.Problem, c.err.Error())
		})
	}
}

func TestNamesMayHaveTheDocumentedCharacters(t *testing.T) {
	const allowed = `abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:`
	for c := range 256 {
		name := string([]byte{byte(c)})
		if strings.Contains(allowed, name) {
			assert.Nil(t, CheckName("queue", name), "%q", name)
		} else {
			assert.NotNil(t, CheckName("queue", name), "%q", name)
		}
	}
}

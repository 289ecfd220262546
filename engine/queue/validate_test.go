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
		problem string // a part of the problem
	}{
		{"plain task", task(func(*NewTask) {}), "", ""},
		{"all fields at their limits", l.CheckTask(0, &NewTask{
			Queue: strings.Repeat("q", NameMax), Payload: make([]byte, l.PayloadBytesMax),
			DelayMs: l.DelayMsMax, MaxAttempts: l.AttemptsMax, LeaseMs: l.LeaseMsMax,
		}, MaxPriority), "", ""},
		{"no queue", task(func(n *NewTask) { n.Queue = "" }), "queue", "is empty"},
		{"long queue", task(func(n *NewTask) { n.Queue = strings.Repeat("q", NameMax+1) }), "queue", "has 129 bytes: use at most 128"},
		{"queue with a space", task(func(n *NewTask) { n.Queue = "a b" }), "queue", `"a b" has the character U+0020 ' ' at offset 1: use a-z, A-Z, 0-9 and "._-/:"`},
		{"queue not UTF-8", task(func(n *NewTask) { n.Queue = "a\xff" }), "queue", `"a\xff" is not valid UTF-8: it has the byte 0xff at offset 1`},
		{"queue with a line break", task(func(n *NewTask) { n.Queue = "mail\n" }), "queue", `"mail\n" has the character U+000A at offset 4`},
		{"queue with a letter beyond ASCII", task(func(n *NewTask) { n.Queue = "é" }), "queue", "has the character U+00E9 'é' at offset 0"},
		{"priority", l.CheckTask(0, &NewTask{Queue: "q"}, MaxPriority+1), "priority", "must be 0 to 9, not 10"},
		{"priority that wraps as a byte", l.CheckTask(0, &NewTask{Queue: "q"}, 256), "priority", "must be 0 to 9, not 256"},
		{"payload", task(func(n *NewTask) { n.Payload = make([]byte, l.PayloadBytesMax+1) }), "payload", "1048577"},
		{"delay", task(func(n *NewTask) { n.DelayMs = l.DelayMsMax + 1 }), "delay_ms", "must be 0 to "},
		{"attempts", task(func(n *NewTask) { n.MaxAttempts = l.AttemptsMax + 1 }), "max_attempts", "must be 0 to 1000, not 1001"},
		{"lease", task(func(n *NewTask) { n.LeaseMs = l.LeaseMsMax + 1 }), "lease_ms", "must be 0 to "},

		{"not before, negative", task(func(n *NewTask) { n.NotBeforeMs = -1 }), "not_before_ms", "must be 0 or more, Unix milliseconds, not -1"},
		{"not before, with a delay", task(func(n *NewTask) { n.NotBeforeMs, n.DelayMs = 1, 1 }), "not_before_ms", "together with delay_ms"},
		{"not before, far off", task(func(n *NewTask) { n.NotBeforeMs = int64(l.DelayMsMax) + 1 }), "not_before_ms", "from now"},
		{"not before, as far as allowed", task(func(n *NewTask) { n.NotBeforeMs = int64(l.DelayMsMax) }), "", ""},
		{"time to live", task(func(n *NewTask) { n.TTLMs = l.TTLMsMax + 1 }), "ttl_ms", "must be 0 to "},
		{"time to live that wraps", task(func(n *NewTask) { n.TTLMs = 1 << 40 }), "ttl_ms", "must be 0 to "},
		{"retention", task(func(n *NewTask) { n.RetentionMs = l.RetentionMsMax + 1 }), "result_retention_ms", "must be 0 to "},
		{"long key", task(func(n *NewTask) { n.Key = strings.Repeat("k", NameMax+1) }), "idempotency_key", "has 129 bytes"},
		{"key not UTF-8", task(func(n *NewTask) { n.Key = "k\xef\xbf" }), "idempotency_key", `is not valid UTF-8: it has the byte 0xef at offset 1`},
		{"key with a control character", task(func(n *NewTask) { n.Key = "é\x00" }), "idempotency_key", `"é\x00" has the control character U+0000 at offset 2: use UTF-8 without`},
		{"key with DEL", task(func(n *NewTask) { n.Key = "\x7f" }), "idempotency_key", "U+007F at offset 0"},
		{"key with a control character of Latin-1", task(func(n *NewTask) { n.Key = "a\u0085" }), "idempotency_key", "U+0085 at offset 1"},
		{"key with all that is allowed", task(func(n *NewTask) { n.Key = "order 7 €/ü\uFFFD" }), "", ""},
		{"backoff, initial", task(func(n *NewTask) { n.Backoff.InitialMs = l.DelayMsMax + 1 }), "backoff.initial_ms", "must be 0 to "},
		{"backoff, most", task(func(n *NewTask) { n.Backoff.MaxMs = l.DelayMsMax + 1 }), "backoff.max_ms", "must be 0 to "},
		{"backoff, initial above most", task(func(n *NewTask) { n.Backoff = Backoff{InitialMs: 2, MaxMs: 1} }), "backoff.initial_ms", "must be at most backoff.max_ms, 1, not 2"},
		{"backoff, small multiplier", task(func(n *NewTask) { n.Backoff.MultiplierPercent = 99 }), "backoff.multiplier_percent", "must be 100 to 1000, not 99"},
		{"backoff, large multiplier", task(func(n *NewTask) { n.Backoff.MultiplierPercent = 1_001 }), "backoff.multiplier_percent", "1001"},
		{"backoff, jitter", task(func(n *NewTask) { n.Backoff.JitterPercent = 101 }), "backoff.jitter_percent", "must be 0 to 100, not 101"},
		{"lease beside a backoff", task(func(n *NewTask) { n.Backoff.InitialMs, n.LeaseMs = 1, l.LeaseMsMax+1 }), "lease_ms", "must be 0 to "},
		{"placement", l.CheckPolicy(&Policy{Placement: Ordered + 1}), "placement", "SPREAD or ORDERED"},
		{"policy", l.CheckPolicy(&Policy{Placement: Ordered, TTLMs: 1, RetentionMs: 1}), "", ""},
		{"weights", l.CheckClaim([]string{"a", "b"}, []uint32{1, WeightMax}, 0), "", ""},
		{"too few weights", l.CheckClaim([]string{"a", "b"}, []uint32{1}, 0), "weights", "1 entries for 2 queues"},
		{"a weight of zero", l.CheckClaim([]string{"a", "b"}, []uint32{1, 0}, 0), "weights[1]", "must be 1 to 100, not 0"},
		{"a large weight", l.CheckClaim([]string{"a"}, []uint32{101}, 0), "weights[0]", "101"},

		{"claim", l.CheckClaim([]string{"a", "b"}, nil, 0), "", ""},
		{"claim of as many queues as allowed", l.CheckClaim(names(l.QueuesMax), nil, l.LeaseMsMax), "", ""},
		{"claim of nothing", l.CheckClaim(nil, nil, 0), "queues", "is empty"},
		{"claim of too many queues", l.CheckClaim(names(l.QueuesMax+1), nil, 0), "queues", "names 101 queues"},
		{"claim with a bad name", l.CheckClaim([]string{"a", ""}, nil, 0), "queues[1]", "is empty"},
		{"claim of one queue twice", l.CheckClaim([]string{"a", "b", "a"}, nil, 0), "queues[2]", "named twice"},
		{"claim with a long lease", l.CheckClaim([]string{"a"}, nil, l.LeaseMsMax+1), "lease_ms", "must be 0 to "},

		{"batch", l.CheckBatch("tasks", l.BatchMax), "", ""},
		{"empty batch", l.CheckBatch("tasks", 0), "tasks", "is empty"},
		{"large batch", l.CheckBatch("tasks", l.BatchMax+1), "tasks", "has 1001 items"},

		{"settlement", settle(func(*Settlement) {}), "", ""},
		{"no token", settle(func(s *Settlement) { s.Token = 0 }), "token", "is 0"},
		{"long error", settle(func(s *Settlement) { s.Error = strings.Repeat("e", l.ErrorBytesMax+1) }), "error", "4097"},
		{"result", settle(func(s *Settlement) { s.Result = make([]byte, l.ResultBytesMax+1) }), "result", "262145"},
		{"error not UTF-8", settle(func(s *Settlement) { s.Error = "\xff" }), "error", "UTF-8"},
		{"long delay", settle(func(s *Settlement) { s.DelayMs = l.DelayMsMax + 1 }), "delay_ms", "must be 0 to "},
		{"extension by nothing", settle(func(s *Settlement) { s.Action = Extend }), "lease_ms", "must be 1 to 86400000, not 0"},
		{"long extension", settle(func(s *Settlement) { s.Action, s.LeaseMs = Extend, l.LeaseMsMax+1 }), "lease_ms", "must be 1 to 86400000, not 86400001"},
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

// For each field, the checks accept both ends of its Range and no number outside of it.
func TestRangesAreThoseOfTheChecks(t *testing.T) {
	l := DefaultLimits()
	checks := map[string]func(v uint64) *FieldError{
		"priority":            func(v uint64) *FieldError { return l.CheckTask(0, &NewTask{Queue: "q"}, uint32(v)) },
		"delay_ms":            func(v uint64) *FieldError { return l.CheckTask(0, &NewTask{Queue: "q", DelayMs: v}, 0) },
		"lease_ms":            l.CheckLease,
		"max_attempts":        func(v uint64) *FieldError { return l.CheckPolicy(&Policy{MaxAttempts: uint32(v)}) },
		"ttl_ms":              func(v uint64) *FieldError { return l.CheckPolicy(&Policy{TTLMs: v}) },
		"result_retention_ms": func(v uint64) *FieldError { return l.CheckPolicy(&Policy{RetentionMs: v}) },
		"key_window_ms":       func(v uint64) *FieldError { return l.CheckPolicy(&Policy{KeyWindowMs: v}) },
		"window_ms":           func(v uint64) *FieldError { return (&NewTask{Key: "k"}).MakeUnique(ForATime, v, First) },
		"initial_ms":          func(v uint64) *FieldError { return l.CheckPolicy(&Policy{Backoff: Backoff{InitialMs: v}}) },
		"max_ms":              func(v uint64) *FieldError { return l.CheckPolicy(&Policy{Backoff: Backoff{MaxMs: v}}) },
		"leased_max":          func(v uint64) *FieldError { return l.CheckPolicy(&Policy{Limit: Limit{LeasedMax: uint32(v)}}) },
		"burst": func(v uint64) *FieldError {
			return l.CheckPolicy(&Policy{GroupLimit: Limit{RateMilli: 1, Burst: uint32(v)}})
		},
		"multiplier_percent": func(v uint64) *FieldError {
			return l.CheckPolicy(&Policy{Backoff: Backoff{MultiplierPercent: uint32(v)}})
		},
		"jitter_percent": func(v uint64) *FieldError { return l.CheckPolicy(&Policy{Backoff: Backoff{JitterPercent: uint32(v)}}) },
		"weights":        func(v uint64) *FieldError { return l.CheckClaim([]string{"q"}, []uint32{uint32(v)}, 0) },
		"max_tasks":      func(v uint64) *FieldError { return l.CheckMaxTasks(uint32(v)) },
		"wait_ms":        l.CheckWait,
	}
	defaults := map[string]bool{"multiplier_percent": true, "max_tasks": true} // 0 is the default
	for field, check := range checks {
		least, most, ok := l.Range(field)
		require.True(t, ok, field)
		assert.Nil(t, check(least), field)
		assert.Nil(t, check(most), field)
		if assert.NotNil(t, check(most+1), field) {
			assert.Contains(t, check(most+1).Problem, fmt.Sprintf("must be %d to %d, not %d", least, most, most+1), field)
		}
		if least > 0 && !defaults[field] {
			assert.NotNil(t, check(least-1), field)
		}
	}
	_, _, ok := l.Range("payload")
	assert.False(t, ok)
}

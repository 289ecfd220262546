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
		return l.CheckTask(&n, 0)
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
		{"all fields at their limits", l.CheckTask(&NewTask{
			Queue: strings.Repeat("q", NameMax), Payload: make([]byte, l.PayloadBytesMax),
			DelayMs: l.DelayMsMax, MaxAttempts: l.AttemptsMax, LeaseMs: l.LeaseMsMax,
		}, MaxPriority), "", ""},
		{"no queue", task(func(n *NewTask) { n.Queue = "" }), "queue", "is empty"},
		{"long queue", task(func(n *NewTask) { n.Queue = strings.Repeat("q", NameMax+1) }), "queue", "has 129 bytes: use at most 128"},
		{"queue with a space", task(func(n *NewTask) { n.Queue = "a b" }), "queue", `"a b"`},
		{"queue not UTF-8", task(func(n *NewTask) { n.Queue = "a\xff" }), "queue", "UTF-8"},
		{"queue with a letter beyond ASCII", task(func(n *NewTask) { n.Queue = "é" }), "queue", "use letters"},
		{"priority", l.CheckTask(&NewTask{Queue: "q"}, MaxPriority+1), "priority", "10 is not 0 to 9"},
		{"priority that wraps as a byte", l.CheckTask(&NewTask{Queue: "q"}, 256), "priority", "256"},
		{"payload", task(func(n *NewTask) { n.Payload = make([]byte, l.PayloadBytesMax+1) }), "payload", "1048577"},
		{"delay", task(func(n *NewTask) { n.DelayMs = l.DelayMsMax + 1 }), "delay_ms", "is above"},
		{"attempts", task(func(n *NewTask) { n.MaxAttempts = l.AttemptsMax + 1 }), "max_attempts", "1001 is above 1000"},
		{"lease", task(func(n *NewTask) { n.LeaseMs = l.LeaseMsMax + 1 }), "lease_ms", "is above"},

		{"claim", l.CheckClaim([]string{"a", "b"}, 0), "", ""},
		{"claim of as many queues as allowed", l.CheckClaim(names(l.QueuesMax), l.LeaseMsMax), "", ""},
		{"claim of nothing", l.CheckClaim(nil, 0), "queues", "is empty"},
		{"claim of too many queues", l.CheckClaim(names(l.QueuesMax+1), 0), "queues", "names 101 queues"},
		{"claim with a bad name", l.CheckClaim([]string{"a", ""}, 0), "queues[1]", "is empty"},
		{"claim of one queue twice", l.CheckClaim([]string{"a", "b", "a"}, 0), "queues[2]", "named twice"},
		{"claim with a long lease", l.CheckClaim([]string{"a"}, l.LeaseMsMax+1), "lease_ms", "is above"},

		{"batch", l.CheckBatch("tasks", l.BatchMax), "", ""},
		{"empty batch", l.CheckBatch("tasks", 0), "tasks", "is empty"},
		{"large batch", l.CheckBatch("tasks", l.BatchMax+1), "tasks", "has 1001 items"},

		{"settlement", settle(func(*Settlement) {}), "", ""},
		{"no token", settle(func(s *Settlement) { s.Token = 0 }), "token", "is 0"},
		{"long error", settle(func(s *Settlement) { s.Error = strings.Repeat("e", l.ErrorBytesMax+1) }), "error", "4097"},
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

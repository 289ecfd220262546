package queue

import (
	"fmt"
	"unicode/utf8"
)

// Limits are what a server accepts in one call. They are checked at the server's edge.
type Limits struct {
	PayloadBytesMax int
	BatchMax        int // tasks or settlements in one call, or frame of a stream
	LeaseMsMax      uint64
	DelayMsMax      uint64
	AttemptsMax     uint32
	WaitMsMax       uint64
	QueuesMax       int // in one claim
	ErrorBytesMax   int // of the error text that Fail carries
	ResultBytesMax  int
	TTLMsMax        uint64
	RetentionMsMax  uint64 // of results
}

// DefaultLimits returns the defaults.
func DefaultLimits() Limits {
	return Limits{
		PayloadBytesMax: 1 << 20,
		BatchMax:        1_000,
		LeaseMsMax:      24 * 3600_000,
		DelayMsMax:      366 * 24 * 3600_000,
		AttemptsMax:     1_000,
		WaitMsMax:       60_000,
		QueuesMax:       100,
		ErrorBytesMax:   4 << 10,
		ResultBytesMax:  256 << 10,
		TTLMsMax:        366 * 24 * 3600_000,
		RetentionMsMax:  7 * 24 * 3600_000,
	}
}

// NameMax is the length, in bytes, of the longest queue or tenant name.
const NameMax = 128

// CheckName checks the name of a queue or tenant: 1 to NameMax characters of letters, digits and "._-/:".
func CheckName(field, name string) *FieldError {
	switch {
	case name == "":
		return &FieldError{field, "is empty: give it a name"}
	case len(name) > NameMax:
		return &FieldError{field, fmt.Sprintf("has %d bytes: use at most %d", len(name), NameMax)}
	case !utf8.ValidString(name):
		return &FieldError{field, fmt.Sprintf("%q is not valid UTF-8", name)}
	}
	for i := range len(name) {
		if !nameByte[name[i]] {
			return &FieldError{field, fmt.Sprintf(`%q has the character %q: use letters, digits and "._-/:"`, name, name[i])}
		}
	}
	return nil
}

var nameByte = func() (ok [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:") {
		ok[c] = true
	}
	return ok
}()

// CheckTask checks a new task at a time. priority is separate because NewTask.Priority is too small for a bad value.
func (l *Limits) CheckTask(nowMs int64, t *NewTask, priority uint32) *FieldError {
	if err := CheckName("queue", t.Queue); err != nil {
		return err
	}
	switch {
	case priority > MaxPriority:
		return &FieldError{"priority", fmt.Sprintf("%d is not 0 to %d", priority, MaxPriority)}
	case len(t.Payload) > l.PayloadBytesMax:
		return &FieldError{"payload", fmt.Sprintf("has %d bytes: send at most %d", len(t.Payload), l.PayloadBytesMax)}
	case t.DelayMs > l.DelayMsMax:
		return &FieldError{"delay_ms", fmt.Sprintf("%d is above %d", t.DelayMs, l.DelayMsMax)}
	case t.NotBeforeMs < 0:
		return &FieldError{"not_before_ms", fmt.Sprintf("%d is negative: pass Unix milliseconds", t.NotBeforeMs)}
	case t.NotBeforeMs > 0 && t.DelayMs > 0:
		return &FieldError{"not_before_ms", "is set together with delay_ms: set one of them"}
	case t.NotBeforeMs > nowMs && uint64(t.NotBeforeMs-nowMs) > l.DelayMsMax:
		return &FieldError{"not_before_ms", fmt.Sprintf("%d is more than %d ms from now", t.NotBeforeMs, l.DelayMsMax)}
	case len(t.Key) > NameMax:
		return &FieldError{"idempotency_key", fmt.Sprintf("has %d bytes: use at most %d", len(t.Key), NameMax)}
	case !utf8.ValidString(t.Key):
		return &FieldError{"idempotency_key", "is not valid UTF-8"}
	}
	if t.MaxAttempts|uint32(t.TTLMs)|uint32(t.TTLMs>>32)|uint32(t.RetentionMs)|uint32(t.RetentionMs>>32) == 0 && t.Backoff == (Backoff{}) {
		return l.CheckLease(t.LeaseMs)
	}
	return l.CheckPolicy(&Policy{
		MaxAttempts: t.MaxAttempts, LeaseMs: t.LeaseMs, Backoff: t.Backoff, TTLMs: t.TTLMs, RetentionMs: t.RetentionMs,
	})
}

// CheckPolicy checks the policy of a queue, or the options of one task.
func (l *Limits) CheckPolicy(p *Policy) *FieldError {
	b := &p.Backoff
	switch {
	case p.Placement > Ordered:
		return &FieldError{"placement", fmt.Sprintf("%d is not known: use SPREAD or ORDERED", p.Placement)}
	case p.MaxAttempts > l.AttemptsMax:
		return &FieldError{"max_attempts", fmt.Sprintf("%d is above %d", p.MaxAttempts, l.AttemptsMax)}
	case p.TTLMs > l.TTLMsMax:
		return &FieldError{"ttl_ms", fmt.Sprintf("%d is above %d", p.TTLMs, l.TTLMsMax)}
	case p.RetentionMs > l.RetentionMsMax:
		return &FieldError{"result_retention_ms", fmt.Sprintf("%d is above %d", p.RetentionMs, l.RetentionMsMax)}
	case b.InitialMs > l.DelayMsMax:
		return &FieldError{"backoff.initial_ms", fmt.Sprintf("%d is above %d", b.InitialMs, l.DelayMsMax)}
	case b.MaxMs > l.DelayMsMax:
		return &FieldError{"backoff.max_ms", fmt.Sprintf("%d is above %d", b.MaxMs, l.DelayMsMax)}
	case b.MaxMs > 0 && b.InitialMs > b.MaxMs:
		return &FieldError{"backoff.initial_ms", fmt.Sprintf("%d is above max_ms, %d", b.InitialMs, b.MaxMs)}
	case b.MultiplierPercent != 0 && (b.MultiplierPercent < 100 || b.MultiplierPercent > 1_000):
		return &FieldError{"backoff.multiplier_percent", fmt.Sprintf("%d is not 100 to 1000", b.MultiplierPercent)}
	case b.JitterPercent > 100:
		return &FieldError{"backoff.jitter_percent", fmt.Sprintf("%d is above 100", b.JitterPercent)}
	}
	return l.CheckLease(p.LeaseMs)
}

// CheckLease checks the length of a lease; 0 is allowed and means the default.
func (l *Limits) CheckLease(leaseMs uint64) *FieldError {
	if leaseMs > l.LeaseMsMax {
		return &FieldError{"lease_ms", fmt.Sprintf("%d is above %d", leaseMs, l.LeaseMsMax)}
	}
	return nil
}

// WeightMax is the greatest weight of a queue in a claim.
const WeightMax = 100

// CheckClaim checks what a claim or a work stream asks for.
func (l *Limits) CheckClaim(queues []string, weights []uint32, leaseMs uint64) *FieldError {
	if len(queues) == 0 {
		return &FieldError{"queues", "is empty: name at least one queue"}
	}
	if weights != nil && len(weights) != len(queues) {
		return &FieldError{"weights", fmt.Sprintf("has %d entries for %d queues: give one for each, or none", len(weights), len(queues))}
	}
	for i, w := range weights {
		if w < 1 || w > WeightMax {
			return &FieldError{fmt.Sprintf("weights[%d]", i), fmt.Sprintf("%d is not 1 to %d", w, WeightMax)}
		}
	}
	if len(queues) > l.QueuesMax {
		return &FieldError{"queues", fmt.Sprintf("names %d queues: use at most %d", len(queues), l.QueuesMax)}
	}
	seen := make(map[string]bool, len(queues))
	for i, name := range queues {
		field := fmt.Sprintf("queues[%d]", i)
		if err := CheckName(field, name); err != nil {
			return err
		}
		if seen[name] {
			return &FieldError{field, fmt.Sprintf("%q is named twice", name)}
		}
		seen[name] = true
	}
	return l.CheckLease(leaseMs)
}

// CheckBatch checks the number of items of a call.
func (l *Limits) CheckBatch(field string, n int) *FieldError {
	if n == 0 {
		return &FieldError{field, "is empty: send at least one"}
	}
	if n > l.BatchMax {
		return &FieldError{field, fmt.Sprintf("has %d items: send at most %d in one call", n, l.BatchMax)}
	}
	return nil
}

// CheckSettlement checks what a settlement carries beside its id and token.
func (l *Limits) CheckSettlement(s *Settlement) *FieldError {
	switch {
	case s.Token == 0:
		return &FieldError{"token", "is 0: pass the token of the lease"}
	case len(s.Error) > l.ErrorBytesMax:
		return &FieldError{"error", fmt.Sprintf("has %d bytes: send at most %d", len(s.Error), l.ErrorBytesMax)}
	case !utf8.ValidString(s.Error):
		return &FieldError{"error", "is not valid UTF-8"}
	case len(s.Result) > l.ResultBytesMax:
		return &FieldError{"result", fmt.Sprintf("has %d bytes: send at most %d", len(s.Result), l.ResultBytesMax)}
	case s.DelayMs > l.DelayMsMax:
		return &FieldError{"delay_ms", fmt.Sprintf("%d is above %d", s.DelayMs, l.DelayMsMax)}
	case s.Action == Extend && s.LeaseMs == 0:
		return &FieldError{"lease_ms", "is 0: say how long the lease holds from now"}
	}
	return l.CheckLease(s.LeaseMs)
}

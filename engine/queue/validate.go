package queue

import (
	"fmt"
	"unicode/utf8"
)

// Limits contains the limits of one call's input. The server checks the input before a call reaches
// a shard.
type Limits struct {
	PayloadBytesMax int
	BatchMax        int // tasks or settlements in one call, or in one frame of a stream
	LeaseMsMax      uint64
	DelayMsMax      uint64
	AttemptsMax     uint32
	WaitMsMax       uint64
	QueuesMax       int // maximum number of queues in one claim
	ErrorBytesMax   int // maximum length of the error text of Fail
	ResultBytesMax  int
	TTLMsMax        uint64
	RetentionMsMax  uint64 // maximum retention of results
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

// CheckTask checks a new task. nowMs is the current time. priority is a separate argument, because
// its type can represent invalid values that NewTask.Priority cannot.
func (l *Limits) CheckTask(nowMs int64, t *NewTask, priority uint32) *FieldError {
	if err := CheckName("queue", t.Queue); err != nil {
		return err
	}
	switch {
	case priority > MaxPriority:
		return Outside("priority", priority, 0, MaxPriority)
	case t.DelayMs > l.DelayMsMax:
		return Outside("delay_ms", t.DelayMs, 0, l.DelayMsMax)
	case t.NotBeforeMs > 0 && t.DelayMs > 0:
		return &FieldError{"not_before_ms", "is set together with delay_ms: set one of them"}
	}
	if err := l.CheckPayload(t.Payload); err != nil {
		return err
	}
	if err := l.CheckDue("not_before_ms", nowMs, t.NotBeforeMs); err != nil {
		return err
	}
	if err := CheckKey("idempotency_key", t.Key); err != nil {
		return err
	}
	if err := t.Dependencies.check(t); err != nil {
		return err
	}
	if t.MaxAttempts|uint32(t.TTLMs)|uint32(t.TTLMs>>32)|uint32(t.RetentionMs)|uint32(t.RetentionMs>>32) == 0 && t.Backoff == (Backoff{}) {
		return l.CheckLease(t.LeaseMs)
	}
	return l.CheckPolicy(&Policy{
		MaxAttempts: t.MaxAttempts, LeaseMs: t.LeaseMs, Backoff: t.Backoff, TTLMs: t.TTLMs, RetentionMs: t.RetentionMs,
	})
}

// CheckPayload checks the payload of a task.
func (l *Limits) CheckPayload(payload []byte) *FieldError {
	if n := len(payload); n > l.PayloadBytesMax {
		return &FieldError{"payload", fmt.Sprintf("has %d bytes: send at most %d", n, l.PayloadBytesMax)}
	}
	return nil
}

// CheckDue checks the time when a task becomes ready; 0 is allowed and means now. nowMs is the current
// time.
func (l *Limits) CheckDue(field string, nowMs, dueAtMs int64) *FieldError {
	switch {
	case dueAtMs < 0:
		return &FieldError{field, fmt.Sprintf("must be 0 or more, Unix milliseconds, not %d", dueAtMs)}
	case dueAtMs > nowMs && uint64(dueAtMs-nowMs) > l.DelayMsMax:
		return &FieldError{field, fmt.Sprintf("must be at most %d ms from now, Unix milliseconds: %d is %d ms from now", l.DelayMsMax, dueAtMs, dueAtMs-nowMs)}
	}
	return nil
}

// CheckPolicy checks the policy of a queue, or the options of one task.
func (l *Limits) CheckPolicy(p *Policy) *FieldError {
	b := &p.Backoff
	switch {
	case p.Placement > Ordered:
		return &FieldError{"placement", fmt.Sprintf("%d is not known: use SPREAD or ORDERED", p.Placement)}
	case p.MaxAttempts > l.AttemptsMax:
		return Outside("max_attempts", p.MaxAttempts, 0, l.AttemptsMax)
	case p.TTLMs > l.TTLMsMax:
		return Outside("ttl_ms", p.TTLMs, 0, l.TTLMsMax)
	case p.RetentionMs > l.RetentionMsMax:
		return Outside("result_retention_ms", p.RetentionMs, 0, l.RetentionMsMax)
	case p.KeyWindowMs > KeyWindowMsMax:
		return Outside("key_window_ms", p.KeyWindowMs, 0, uint64(KeyWindowMsMax))
	case p.HistoryTasksMax > HistoryTasksLimit:
		return Outside("history_tasks_max", p.HistoryTasksMax, 0, uint32(HistoryTasksLimit))
	case p.HistoryRetentionMs > HistoryRetentionMsMax:
		return Outside("history_retention_ms", p.HistoryRetentionMs, 0, uint64(HistoryRetentionMsMax))
	case b.InitialMs > l.DelayMsMax:
		return Outside("backoff.initial_ms", b.InitialMs, 0, l.DelayMsMax)
	case b.MaxMs > l.DelayMsMax:
		return Outside("backoff.max_ms", b.MaxMs, 0, l.DelayMsMax)
	case b.MaxMs > 0 && b.InitialMs > b.MaxMs:
		return &FieldError{"backoff.initial_ms", fmt.Sprintf("must be at most backoff.max_ms, %d, not %d", b.MaxMs, b.InitialMs)}
	case b.MultiplierPercent != 0 && (b.MultiplierPercent < multiplierMin || b.MultiplierPercent > multiplierMax):
		return Outside("backoff.multiplier_percent", b.MultiplierPercent, multiplierMin, multiplierMax)
	case b.JitterPercent > jitterMax:
		return Outside("backoff.jitter_percent", b.JitterPercent, 0, jitterMax)
	}
	if err := p.Limit.check("limit"); err != nil {
		return err
	}
	if err := p.GroupLimit.check("group_limit"); err != nil {
		return err
	}
	return l.CheckLease(p.LeaseMs)
}

// CheckLease checks the length of a lease; 0 is allowed and means the default.
func (l *Limits) CheckLease(leaseMs uint64) *FieldError {
	if leaseMs > l.LeaseMsMax {
		return Outside("lease_ms", leaseMs, 0, l.LeaseMsMax)
	}
	return nil
}

// WeightMax is the greatest weight of a queue in a claim.
const WeightMax = 100

// CheckClaim checks the request of a claim or a work stream.
func (l *Limits) CheckClaim(queues []string, weights []uint32, leaseMs uint64) *FieldError {
	if len(queues) == 0 {
		return &FieldError{"queues", "is empty: name at least one queue"}
	}
	if weights != nil && len(weights) != len(queues) {
		return &FieldError{"weights", fmt.Sprintf("has %d entries for %d queues: give one for each, or none", len(weights), len(queues))}
	}
	for i, w := range weights {
		if w < 1 || w > WeightMax {
			return Outside(fmt.Sprintf("weights[%d]", i), w, 1, WeightMax)
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

// CheckSettlement checks the fields of a settlement except its id.
func (l *Limits) CheckSettlement(s *Settlement) *FieldError {
	switch {
	case s.Token == 0:
		return &FieldError{"token", "is 0: pass the token of the lease"}
	case s.Action == Extend && len(s.Error) > NoteBytesMax:
		return &FieldError{"note", fmt.Sprintf("has %d bytes: send at most %d", len(s.Error), NoteBytesMax)}
	case s.Action == Extend && !utf8.ValidString(s.Error):
		return &FieldError{"note", "is not valid UTF-8"}
	case len(s.Error) > l.ErrorBytesMax:
		return &FieldError{"error", fmt.Sprintf("has %d bytes: send at most %d", len(s.Error), l.ErrorBytesMax)}
	case !utf8.ValidString(s.Error):
		return &FieldError{"error", "is not valid UTF-8"}
	case len(s.Result) > l.ResultBytesMax:
		return &FieldError{"result", fmt.Sprintf("has %d bytes: send at most %d", len(s.Result), l.ResultBytesMax)}
	case s.DelayMs > l.DelayMsMax:
		return Outside("delay_ms", s.DelayMs, 0, l.DelayMsMax)
	case s.Action == Extend && (s.LeaseMs == 0 || s.LeaseMs > l.LeaseMsMax):
		// An extension has no default.
		return Outside("lease_ms", s.LeaseMs, 1, l.LeaseMsMax)
	}
	return l.CheckLease(s.LeaseMs)
}

package queue

import "fmt"

// Limits of fields that are not configurable, in percent. A multiplier of 0 selects the default.
const (
	multiplierMin = 100
	multiplierMax = 1_000
	jitterMax     = 100
)

// Range returns the smallest and the largest value of a numeric field of a call. field is the name
// of the field in the API. ok is false if the field has no range. If least is above 0, a value of 0
// selects the default. The lease_ms of an extension has no default, so 0 is invalid there.
func (l *Limits) Range(field string) (least, most uint64, ok bool) {
	switch field {
	case "priority":
		return 0, MaxPriority, true
	case "delay_ms", "initial_ms", "max_ms":
		return 0, l.DelayMsMax, true
	case "lease_ms":
		return 0, l.LeaseMsMax, true
	case "max_attempts":
		return 0, uint64(l.AttemptsMax), true
	case "ttl_ms":
		return 0, l.TTLMsMax, true
	case "result_retention_ms":
		return 0, l.RetentionMsMax, true
	case "key_window_ms", "window_ms":
		return 0, KeyWindowMsMax, true
	case "history_tasks_max":
		return 0, HistoryTasksLimit, true
	case "history_retention_ms":
		return 0, HistoryRetentionMsMax, true
	case "leased_max":
		return 0, leasedMaxMost, true
	case "burst":
		return 0, burstMost, true
	case "multiplier_percent":
		return multiplierMin, multiplierMax, true
	case "jitter_percent":
		return 0, jitterMax, true
	case "weights":
		return 1, WeightMax, true
	case "max_tasks":
		return 1, uint64(l.BatchMax), true
	case "wait_ms":
		return 0, l.WaitMsMax, true
	}
	return 0, 0, false
}

// CheckMaxTasks checks the number of tasks that a claim asks for; 0 is allowed and means 1.
func (l *Limits) CheckMaxTasks(n uint32) *FieldError {
	if uint64(n) > uint64(l.BatchMax) {
		return Outside("max_tasks", n, 1, uint64(l.BatchMax))
	}
	return nil
}

// CheckWait checks the wait time of a call.
func (l *Limits) CheckWait(ms uint64) *FieldError {
	if ms > l.WaitMsMax {
		return Outside("wait_ms", ms, 0, l.WaitMsMax)
	}
	return nil
}

// Outside returns the error for a field whose value is outside of its range.
func Outside[V, M uint32 | uint64 | int](field string, value V, least int, most M) *FieldError {
	return &FieldError{field, fmt.Sprintf("must be %d to %d, not %d", least, most, value)}
}

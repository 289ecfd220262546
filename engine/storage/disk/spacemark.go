package disk

import (
	"fmt"
	"time"
)

// Mark is a threshold of the free space: a number of bytes, or a percentage of the file system's
// size. The zero value means the default.
type Mark struct {
	Set     bool   // false means the default
	Percent uint32 // percentage of the file system's size, 1 to 100; 0 means that Bytes applies
	Bytes   uint64 // 0 means off
}

// The default low mark is defaultLowPercent of the file system's size, but at most defaultLowMax
// bytes. The default critical mark is half of the low mark. This is enough room for the memtables
// of all shards, their logs and a few compactions.
const (
	percentAll        = 100
	defaultLowPercent = 5
	defaultLowMax     = 4 << 30
)

func defaultLow(total uint64) uint64 { return min(total/percentAll*defaultLowPercent, defaultLowMax) }

// Off reports whether the mark is set to 0, which disables it.
func (m Mark) Off() bool { return m.Set && m.Percent == 0 && m.Bytes == 0 }

// String returns the mark in the form of the configuration: "auto", a percentage, or a number of
// bytes.
func (m Mark) String() string {
	switch {
	case !m.Set:
		return "auto"
	case m.Percent > 0:
		return fmt.Sprintf("%d%%", m.Percent)
	}
	return fmt.Sprintf("%dB", m.Bytes)
}

func (m Mark) bytes(total, ifDefault uint64) uint64 {
	switch {
	case !m.Set:
		return ifDefault
	case m.Percent > 0:
		return total / percentAll * uint64(m.Percent)
	}
	return m.Bytes
}

// Marks returns the marks in bytes for a file system with a size of total bytes; 0 means off.
func Marks(low, critical Mark, total uint64) (lowBytes, criticalBytes uint64) {
	lowBytes = low.bytes(total, defaultLow(total))
	if low.Off() {
		return 0, critical.bytes(total, 0)
	}
	return lowBytes, min(lowBytes, critical.bytes(total, lowBytes/2))
}

// FullError is the error of a command that is refused because of too little disk space.
type FullError struct {
	State SpaceState
	text  string
}

// Error returns the mark, the free space and the remedy.
func (e *FullError) Error() string { return e.text }

// RetryAfter returns how long a client should wait before it tries again.
func (e *FullError) RetryAfter() time.Duration { return SpaceRetry }

func (s *Space) refusalLocked(state SpaceState) *FullError {
	u := s.Usage()
	what, mark, setting := "what would grow the store is refused", u.Low, "--disk-low"
	if state >= SpaceCritical {
		what, mark, setting = "all changes are refused", u.Critical, "--disk-critical"
	}
	const remedy = "free space on the file system or enlarge it"
	var why string
	switch {
	case s.ownStateLocked() < state:
		why = s.floorWhy
	case s.full > 0:
		why = "the file system of the data folder is full, or a disk quota is used up"
	default:
		why = fmt.Sprintf("the file system of the data folder has %s available, below the mark of %s (%s)", mebibytes(u.Available), mebibytes(mark), setting)
	}
	remedies := remedy
	if state == SpaceLow {
		remedies = "complete, cancel or purge tasks, or " + remedy
	}
	return &FullError{State: state, text: fmt.Sprintf("disk: %s: %s: %s; service resumes by itself", why, what, remedies)}
}

func mebibytes(bytes uint64) string {
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

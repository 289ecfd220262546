// Package schedule computes the due times of recurring tasks. It uses no I/O and no clock, and its
// results do not depend on the host: the program contains the time zone data.
//
// # Due times
//
// A schedule is a cron expression or an interval. The due times of an interval are its multiples
// since 1970-01-01T00:00:00Z. A cron expression has the five fields minute, hour, day of the month,
// month and day of the week, and applies to the wall clock of a time zone. Where the zone's clock
// is set forward or back, two rules apply:
//
//   - An expression that restricts the hour, such as "30 2 * * *", has one due time for each matching
//     time of the wall clock. If the clock skips the time, the due time is the end of the gap. If
//     the clock repeats the time, the due time is the first occurrence.
//   - An expression that matches every hour, such as "*/15 * * * *", has a due time at each moment
//     when the wall clock matches: none for a skipped time, two for a repeated time. The intervals
//     between its due times therefore do not change.
//
// For example, in Europe/Berlin "30 2 * * *" is due at 03:00 (summer time) on the night when the
// clock skips the hour from 02:00 to 03:00, and at the first 02:30 (summer time) on the night when
// the clock repeats this hour.
//
// Jitter delays the start of a run, but not beyond the next due time. Package queue decides which
// due times become tasks. Backlog collects the due times that have passed.
//
// # Concurrency
//
// A Schedule is immutable and safe for concurrent use. A Backlog is not.
package schedule

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// The bounds of a Spec.
const (
	cronMax     = 256
	EveryMsMin  = 1_000
	EveryMsMax  = 366 * 24 * 3600_000
	JitterMsMax = 24 * 3600_000
)

// Never is the due time of a schedule that is never due again.
const Never = math.MaxInt64

// Spec specifies a schedule. Either Cron or EveryMs is set.
type Spec struct {
	// Cron is an expression of five fields, or "@yearly", "@monthly", "@weekly", "@daily" or
	// "@hourly".
	Cron     string
	EveryMs  uint64
	Zone     string // IANA name of the time zone of Cron; "" means UTC
	JitterMs uint64 // bound of the delay of a run after its due time
}

// Error names a field of a Spec with an invalid value, and describes the problem.
type Error struct {
	Field   string
	Problem string // names the value and the remedy
}

func (e *Error) Error() string { return e.Field + ": " + e.Problem }

// Schedule is a parsed Spec.
type Schedule struct {
	everyMs   int64 // 0 for a cron expression
	cron      cron.Schedule
	zone      *time.Location
	everyHour bool // the expression matches every hour of the day
	jitterMs  int64
}

// parser accepts five fields and the named expressions.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// Parse checks a Spec and returns its schedule.
func (s Spec) Parse() (*Schedule, *Error) {
	out := &Schedule{everyMs: int64(s.EveryMs), jitterMs: int64(s.JitterMs)}
	switch {
	case s.JitterMs > JitterMsMax:
		return nil, &Error{"jitter_ms", fmt.Sprintf("must be 0 to %d, not %d", JitterMsMax, s.JitterMs)}
	case s.Cron == "" && s.EveryMs == 0:
		return nil, &Error{"cron", "is empty, and interval_ms is 0: set one of them"}
	case s.Cron != "" && s.EveryMs != 0:
		return nil, &Error{"cron", "is set together with interval_ms: set one of them"}
	case s.Cron != "":
		return out, s.parseCron(out)
	case s.EveryMs < EveryMsMin || s.EveryMs > EveryMsMax:
		return nil, &Error{"interval_ms", fmt.Sprintf("must be %d to %d, not %d", EveryMsMin, int64(EveryMsMax), s.EveryMs)}
	case s.Zone != "":
		return nil, &Error{"time_zone", "is set together with interval_ms: an interval has no time zone"}
	}
	return out, nil
}

func (s Spec) parseCron(out *Schedule) *Error {
	// The library accepts further forms: a time zone before the fields, and intervals.
	text := strings.TrimSpace(s.Cron)
	switch {
	case len(s.Cron) > cronMax:
		return &Error{"cron", fmt.Sprintf("has %d bytes: use at most %d", len(s.Cron), cronMax)}
	case strings.Contains(text, "="):
		return &Error{"cron", fmt.Sprintf("%q contains a time zone: set time_zone", s.Cron)}
	case strings.HasPrefix(text, "@every"):
		return &Error{"cron", fmt.Sprintf("%q is an interval: set interval_ms", s.Cron)}
	}
	parsed, err := parser.Parse(text)
	if err != nil {
		return &Error{"cron", fmt.Sprintf("%q: %v: use five fields, minute hour day month weekday, as in \"30 2 * * *\"", s.Cron, err)}
	}
	out.cron = parsed
	fields := parsed.(*cron.SpecSchedule) // all other forms were refused
	const hours = 1<<24 - 1
	out.everyHour = fields.Hour&hours == hours
	var known bool
	if out.zone, known = zone(s.Zone); !known {
		return &Error{"time_zone", fmt.Sprintf("%q is not known: use an IANA name such as Europe/Berlin, or none for UTC", s.Zone)}
	}
	if out.match(time.UnixMilli(0).UTC()).IsZero() {
		return &Error{"cron", fmt.Sprintf("%q never matches", s.Cron)}
	}
	return nil
}

// Next returns the first due time after a time, or Never.
func (s *Schedule) Next(afterMs int64) int64 {
	if s.everyMs > 0 {
		return (afterMs/s.everyMs + 1) * s.everyMs
	}
	after := time.UnixMilli(afterMs).In(s.zone)
	next := s.nextOnWall
	if s.everyHour {
		next = s.nextElapsed
	}
	if at := next(after); !at.IsZero() {
		return at.UnixMilli()
	}
	return Never
}

// StartMs returns the time when the run for a due time starts: the due time plus the jitter. The
// jitter depends only on the name of the recurring task and the due time. The run starts before the
// next due time.
func (s *Schedule) StartMs(name string, dueMs int64) int64 {
	if s.jitterMs == 0 || dueMs == Never {
		return dueMs
	}
	hash := fnv.New64a()
	_, _ = hash.Write(binary.BigEndian.AppendUint64([]byte(name), uint64(dueMs))) // never fails
	// The low bits of FNV-1a are weak, so both halves are combined.
	sum := hash.Sum64()
	bound := min(s.jitterMs, s.Next(dueMs)-dueMs)
	return dueMs + int64((sum^sum>>32)%uint64(bound))
}

// nextOnWall returns the next due time of an expression that restricts the hour.
func (s *Schedule) nextOnWall(after time.Time) time.Time {
	for wall := wallClock(after); ; {
		if wall = s.match(wall); wall.IsZero() {
			return wall
		}
		// While the clock repeats an hour, times of the first occurrence are before after.
		if at := s.firstAt(wall); at.After(after) {
			return at
		}
	}
}

// nextElapsed returns the next due time of an expression that matches every hour. It looks for a
// match in each period between two changes of the zone's offset.
func (s *Schedule) nextElapsed(after time.Time) time.Time {
	for from, wall := after, wallClock(after); ; {
		match := s.match(wall)
		if match.IsZero() {
			return match
		}
		_, offset := from.Zone()
		_, end := from.ZoneBounds()
		if at := match.Add(-time.Duration(offset) * time.Second); end.IsZero() || at.Before(end) {
			return at
		}
		from, wall = end, wallClock(end).Add(-time.Second) // match returns a later time
	}
}

// wallClock returns the reading of the wall clock in the zone of t, as a time in UTC and without
// fractions of a second.
func wallClock(t time.Time) time.Time {
	_, offset := t.Zone()
	return time.Unix(t.Unix()+int64(offset), 0).UTC()
}

// firstAt returns the moment when the wall clock first reads wall. If the clock skips that reading,
// firstAt returns the end of the gap.
func (s *Schedule) firstAt(wall time.Time) time.Time {
	// For a time that is skipped or repeated, Date may use the offset before or after the change.
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, s.zone)
	start, end := at.ZoneBounds()
	switch shows := wallClock(at); {
	case shows.After(wall):
		return start
	case shows.Before(wall):
		return end
	case start.IsZero():
		return at
	}
	_, before := start.Add(-time.Second).Zone()
	if earlier := wall.Add(-time.Duration(before) * time.Second); earlier.Before(start) {
		return earlier
	}
	return at
}

// libraryYears is the number of years after which the library stops to look for a match. Leap days
// may be eight years apart.
const libraryYears = 5

// match returns the next time after wall that the expression matches, or the zero time. Both times
// are of a clock that is never set, which the library needs: it leaves out a day's run if the clock
// skips its time, and runs it twice if the clock repeats it.
func (s *Schedule) match(wall time.Time) time.Time {
	at := s.cron.Next(wall)
	if at.IsZero() {
		at = s.cron.Next(time.Date(wall.Year()+libraryYears, time.December, 31, 23, 59, 59, 0, time.UTC))
	}
	return at
}

package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func parse(t require.TestingT, s Spec) *Schedule {
	out, err := s.Parse()
	require.Nil(t, err)
	return out
}

// dueTimes returns the due times in the interval (from, to], with the offset of the zone.
func dueTimes(t require.TestingT, s Spec, from, to string) (due []string) {
	parsed := parse(t, s)
	loc, known := zone(s.Zone)
	require.True(t, known)
	parseTime := func(text string) int64 {
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return at.UnixMilli()
	}
	for at, end := parseTime(from), parseTime(to); ; {
		if at = parsed.Next(at); at > end {
			return due
		}
		due = append(due, time.UnixMilli(at).In(loc).Format(time.RFC3339))
	}
}

// In Europe/Berlin, 2026-03-29 has no 02:30, and 2026-10-25 has it twice.
func TestSummerTimeInBerlin(t *testing.T) {
	for _, c := range []struct {
		cron, from, to string
		want           []string
	}{
		{"30 2 * * *", "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z", []string{
			"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00",
		}},
		{"30 2 * * *", "2026-10-23T22:00:00Z", "2026-10-26T12:00:00Z", []string{
			"2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00",
		}},
		// Several skipped times, and 03:00 itself, are one due time.
		{"0,30 2,3 * * *", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", []string{
			"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00",
		}},
		{"*/30 1-3 * * *", "2026-10-24T22:00:00Z", "2026-10-25T12:00:00Z", []string{
			"2026-10-25T01:00:00+02:00", "2026-10-25T01:30:00+02:00", "2026-10-25T02:00:00+02:00", "2026-10-25T02:30:00+02:00",
			"2026-10-25T03:00:00+01:00", "2026-10-25T03:30:00+01:00",
		}},
		// An expression that matches every hour keeps its distance.
		{"30 * * * *", "2026-03-29T00:00:00Z", "2026-03-29T02:00:00Z", []string{
			"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00",
		}},
		{"30 * * * *", "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z", []string{
			"2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00",
		}},
	} {
		require.Equal(t, c.want, dueTimes(t, Spec{Cron: c.cron, Zone: "Europe/Berlin"}, c.from, c.to), c.cron)
	}
}

func TestZonesDoNotDependOnTheHost(t *testing.T) {
	t.Setenv("ZONEINFO", t.TempDir())
	_, known := zone("America/New_York")
	require.True(t, known)
	for _, name := range []string{"Local", "Europe", "../Europe/Berlin", "/etc/localtime", "Mars/Olympus"} {
		_, known := zone(name)
		require.False(t, known, name)
	}
}

func TestRareTimesAreFound(t *testing.T) {
	require.Equal(t, []string{"2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		dueTimes(t, Spec{Cron: "0 0 29 2 *"}, "2092-03-01T00:00:00Z", "2105-01-01T00:00:00Z"))
}

func TestIntervalsAreMultiplesSince1970(t *testing.T) {
	require.Equal(t, []string{"2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"},
		dueTimes(t, Spec{EveryMs: 15 * 60_000}, "2026-01-01T00:00:00Z", "2026-01-01T00:44:59Z"))
}

func TestInvalidSpecsAreRefused(t *testing.T) {
	for _, c := range []struct {
		spec           Spec
		field, problem string
	}{
		{Spec{}, "cron", "is empty"},
		{Spec{Cron: "* * * * *", EveryMs: 5_000}, "cron", "together with interval_ms"},
		{Spec{EveryMs: 999}, "interval_ms", "must be 1000"},
		{Spec{EveryMs: EveryMsMax + 1}, "interval_ms", "must be 1000"},
		{Spec{EveryMs: 5_000, Zone: "Europe/Berlin"}, "time_zone", "no time zone"},
		{Spec{EveryMs: 5_000, JitterMs: JitterMsMax + 1}, "jitter_ms", "must be 0"},
		{Spec{Cron: "* * * *"}, "cron", "exactly 5 fields"},
		{Spec{Cron: "60 * * * *"}, "cron", "above maximum"},
		{Spec{Cron: "TZ=Europe/Berlin"}, "cron", "set time_zone"},
		{Spec{Cron: "TZ=Europe/Berlin * * * * *"}, "cron", "set time_zone"},
		{Spec{Cron: "@every 5m"}, "cron", "set interval_ms"},
		{Spec{Cron: "@reboot"}, "cron", "unrecognized"},
		{Spec{Cron: "0 0 30 2 *"}, "cron", "never matches"},
		{Spec{Cron: ", * * * *"}, "cron", "never matches"},
		{Spec{Cron: strings.Repeat("1,", 200) + "1 * * * *"}, "cron", "at most 256"},
		{Spec{Cron: "* * * * *", Zone: "Europe/Atlantis"}, "time_zone", "not known"},
	} {
		_, err := c.spec.Parse()
		require.NotNil(t, err, "%+v", c.spec)
		require.Equal(t, c.field, err.Field, "%+v", c.spec)
		require.Contains(t, err.Problem, c.problem, "%+v", c.spec)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("30 2 * * *", "Europe/Berlin")
	f.Add("TZ=", "")
	f.Fuzz(func(t *testing.T, text, name string) {
		if s, err := (Spec{Cron: text, Zone: name}).Parse(); err == nil {
			require.Greater(t, s.Next(0), int64(0))
		}
	})
}

// changes lists zones with moments near which their offsets change, some of them by an unusual
// amount or at an unusual hour.
var changes = []struct{ zone, at string }{
	{"Europe/Berlin", "2026-03-29T01:00:00Z"},
	{"Europe/Berlin", "2026-10-25T01:00:00Z"},
	{"America/New_York", "2026-11-01T06:00:00Z"},
	{"Australia/Lord_Howe", "2026-04-04T15:00:00Z"}, // by 30 minutes
	{"Australia/Lord_Howe", "2026-10-03T15:30:00Z"},
	{"America/Sao_Paulo", "2018-11-04T03:00:00Z"}, // at midnight
	{"Pacific/Apia", "2011-12-30T10:00:00Z"},      // skips a day
	{"Africa/Casablanca", "2026-02-15T02:00:00Z"},
	{"", "2026-06-01T00:00:00Z"},
}

// TestNextAgreesWithEveryMinute compares the due times with those of a model that looks at each
// minute of some days.
func TestNextAgreesWithEveryMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		change := rapid.SampledFrom(changes).Draw(t, "change")
		loc, known := zone(change.zone)
		require.True(t, known)
		near, err := time.Parse(time.RFC3339, change.at)
		require.NoError(t, err)
		minutes := rapid.SliceOfNDistinct(rapid.IntRange(0, 59), 1, 4, rapid.ID).Draw(t, "minutes")
		hours := rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 1, 4, rapid.ID).Draw(t, "hours")
		everyHour := rapid.Bool().Draw(t, "every hour")
		spec := Spec{Cron: fmt.Sprintf("%s %s * * *", list(minutes), list(hours)), Zone: change.zone}
		if everyHour {
			spec.Cron = fmt.Sprintf("%s * * * *", list(minutes))
		}
		from, to := near.Add(-50*time.Hour).Truncate(time.Minute), near.Add(50*time.Hour)
		matches := func(wall time.Time) bool {
			return slices.Contains(minutes, wall.Minute()) && (everyHour || slices.Contains(hours, wall.Hour()))
		}
		due := map[int64]bool{}
		seen := map[time.Time]bool{}
		last := wallClock(from.In(loc))
		for at := from; !at.After(to); at = at.Add(time.Minute) {
			wall := wallClock(at.In(loc))
			if everyHour {
				due[at.UnixMilli()] = due[at.UnixMilli()] || matches(wall)
				continue
			}
			// All times that the clock skips since the last minute are due now.
			for w := last.Add(time.Minute); !w.After(wall); w = w.Add(time.Minute) {
				if matches(w) && !seen[w] {
					due[at.UnixMilli()] = true
				}
				seen[w] = true
			}
			last = wall
		}
		var want, got []int64
		for at, is := range due {
			if is && at > from.UnixMilli() {
				want = append(want, at)
			}
		}
		slices.Sort(want)
		s := parse(t, spec)
		for at := s.Next(from.UnixMilli()); at <= to.UnixMilli(); at = s.Next(at) {
			got = append(got, at)
		}
		require.Equal(t, want, got, "%+v", spec)
		after := rapid.Int64Range(from.UnixMilli(), to.UnixMilli()).Draw(t, "after")
		k, _ := slices.BinarySearch(want, after+1)
		if k < len(want) {
			require.Equal(t, want[k], s.Next(after))
		}
	})
}

func list(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ","), "[]")
}

func TestJitterStaysBeforeTheNextDueTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{JitterMs: rapid.Uint64Range(1, JitterMsMax).Draw(t, "jitter")}
		if rapid.Bool().Draw(t, "cron") {
			spec.Cron, spec.Zone = rapid.SampledFrom([]string{"* * * * *", "30 2 * * *", "0,1 3 1 * *"}).Draw(t, "expression"), "Europe/Berlin"
		} else {
			spec.EveryMs = rapid.Uint64Range(EveryMsMin, 100_000).Draw(t, "interval")
		}
		s, name := parse(t, spec), rapid.String().Draw(t, "name")
		due := s.Next(rapid.Int64Range(0, 1<<41).Draw(t, "after"))
		start := s.StartMs(name, due)
		require.GreaterOrEqual(t, start, due)
		require.LessOrEqual(t, start-due, int64(spec.JitterMs))
		require.Less(t, start, s.Next(due))
		require.Equal(t, start, parse(t, spec).StartMs(name, due))
	})
}

func TestJitterDiffersByNameAndTime(t *testing.T) {
	s := parse(t, Spec{EveryMs: 60_000, JitterMs: 60_000})
	starts := map[int64]bool{}
	for i := range 100 {
		starts[s.StartMs(fmt.Sprint("name", i), 60_000)%60_000] = true
		starts[s.StartMs("name", int64(i+1)*60_000)%60_000] = true
	}
	require.Greater(t, len(starts), 150)
}

func TestBacklogRetainsTheLastDueTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{JitterMs: rapid.SampledFrom([]uint64{0, 700, 90_000}).Draw(t, "jitter")}
		if rapid.Bool().Draw(t, "cron") {
			spec.Cron = rapid.SampledFrom([]string{"* * * * *", "*/7 * * * *"}).Draw(t, "expression")
		} else {
			spec.EveryMs = rapid.SampledFrom([]uint64{1_000, 7_000, 60_000}).Draw(t, "interval")
		}
		s := parse(t, spec)
		b := Backlog{AfterMs: rapid.Int64Range(0, 1<<41).Draw(t, "from")}
		from, now := b.AfterMs, b.AfterMs
		keep := rapid.IntRange(1, 5).Draw(t, "keep")
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			now += rapid.Int64Range(0, 3_000_000).Draw(t, "passed")
			for steps := 0; !s.Collect(&b, "name", now, keep, rapid.IntRange(1, 9).Draw(t, "steps")); steps++ {
				require.Less(t, steps, 10_000)
			}
		}
		var want []int64
		for due := s.Next(from); due != Never && s.StartMs("name", due) <= now; due = s.Next(due) {
			want = append(want, due)
		}
		dropped := max(0, len(want)-keep)
		require.Equal(t, uint64(dropped), b.Dropped)
		require.Zero(t, slices.Compare(want[dropped:], b.Times))
		require.Equal(t, s.Next(b.AfterMs), s.Next(cmp.Or(last(want), from)))
	})
}

func last(times []int64) int64 {
	if len(times) == 0 {
		return 0
	}
	return times[len(times)-1]
}

func TestNeverIsAfterAllTimes(t *testing.T) {
	s := parse(t, Spec{Cron: "0 0 1 1 *", JitterMs: 5})
	require.Equal(t, int64(math.MaxInt64), s.StartMs("name", Never))
}

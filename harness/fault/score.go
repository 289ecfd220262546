package fault

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// Point is the number of cycles that were acknowledged up to a certain time. At is relative to the
// window's start.
type Point struct {
	At    time.Duration
	Total uint64
}

// Series is a sequence of points, ordered by time.
type Series []Point

const (
	// SampleEvery is the interval between the points of a series.
	SampleEvery = 10 * time.Millisecond
	// slot is the length of an interval. To find how deep the rate falls, it is averaged over such
	// intervals.
	slot = 100 * time.Millisecond
	// stretch is how long the rate must remain at the required level to count as recovered.
	stretch = 500 * time.Millisecond
	// RecoveredShare is a fraction of the rate before a fault. The load has recovered when it
	// reaches this rate. The rate of a healthy cluster on a shared host varies by this much from
	// one second to the next.
	RecoveredShare = 0.8
	// BackShare is a fraction of the rate before a fault. The load is back soon if it reaches this
	// rate, averaged over half a second, within BackWithin.
	BackShare = 0.95
	// BackWithin is the longest time from the start of a fault to the start of that half second.
	BackWithin = time.Second
	// gapLeast is the shortest time without a cycle that counts as an outage. On a busy host even a
	// steady load has shorter gaps.
	gapLeast = slot
	// gapLatest bounds the time between a fault and the start of the outage that is attributed to
	// it.
	gapLatest = time.Second
)

// Score describes the effect of one fault on the load. Times are relative to the start of the
// fault.
type Score struct {
	// FirstAck is the time of the first cycle that was acknowledged after the outage. It is 0 if
	// there was no outage. Silent is set if no cycle was acknowledged until the next fault or the
	// end of the window. FirstAck is then the time until that fault or that end.
	FirstAck time.Duration
	Silent   bool
	// BeforePerS is the rate before the fault, in cycles per second. It is measured from when the
	// load had recovered from the previous fault, or from the first point. If that interval is
	// shorter than half a second or contains no cycle, BeforePerS is copied from the previous
	// fault.
	BeforePerS float64
	// Recovery is when the rate first reached RecoveredShare of BeforePerS and remained there for
	// half a second.
	Recovery time.Duration
	// Recovered is set if the rate recovered before the next fault and before the end of the
	// window. If it is not set, Recovery is the time until that fault or that end.
	Recovered bool
	// BackSoon is set if the load reached BackShare of BeforePerS within BackWithin of the start of
	// the fault, and remained there for half a second.
	BackSoon bool
	// DipPercent is how far the rate fell below BeforePerS in the worst tenth of a second, in
	// percent of BeforePerS. It considers the time until the rate had recovered and the fault had
	// ended.
	DipPercent float64
	// FaultPerS is the rate during the fault, in cycles per second. AfterPerS is the rate from the
	// end of the fault to the next fault.
	FaultPerS float64
	AfterPerS float64
	// LevelPerS is the rate after the recovery, in cycles per second. It is measured from when the
	// fault had ended and the load had recovered, until the next fault. If the load did not
	// recover, it is measured from the first cycle after the outage.
	LevelPerS float64
}

// Scores are the scores of all faults in a window.
type Scores struct {
	BaselinePerS float64 // rate before the first fault, in cycles per second
	// BaselineDipPercent is how far the rate fell in the worst tenth of a second before the first
	// fault, in percent. Such dips occur without a fault.
	BaselineDipPercent float64
	Events             []Score
}

// Judge computes the scores of the events in a window from the acknowledged cycles. The events must
// be ordered by time. Judge returns an error if there is no load before the first event, because
// there is then no rate to compare with.
func Judge(s Series, events []Event) (Scores, error) {
	var all Scores
	if len(events) == 0 {
		return all, errors.New("score: there was no fault")
	}
	if len(s) < 2 {
		return all, errors.New("score: there are fewer than 2 samples of the cycles")
	}
	first := events[0].Began
	all.BaselinePerS = s.rate(s[0].At, first)
	if all.BaselinePerS <= 0 || math.IsNaN(all.BaselinePerS) {
		return all, errors.New("score: no cycle was acknowledged before the first fault")
	}
	all.BaselineDipPercent = s.dip(s[0].At, first, all.BaselinePerS)
	from, before := s[0].At, all.BaselinePerS
	for i, e := range events {
		until := s[len(s)-1].At
		if i+1 < len(events) {
			until = min(until, events[i+1].Began)
		}
		if rate := s.rate(from, e.Began); e.Began-from >= stretch && rate > 0 {
			before = rate
		}
		var score Score
		score, from = s.score(e, until, before)
		all.Events = append(all.Events, score)
	}
	return all, nil
}

// score computes the score of one event. before is the rate before the event, and until is the time
// of the next event or of the end of the window. back is the time when the load is considered
// normal again.
func (s Series) score(e Event, until time.Duration, before float64) (score Score, back time.Duration) {
	score.BeforePerS = before
	resumed := e.Began
	if end, ended, found := s.outage(e.Began, e.Done+gapLatest, until); found {
		resumed = end
		score.FirstAck, score.Silent = end-e.Began, !ended
	}
	at, recovered := s.reaches(RecoveredShare*before, resumed, until)
	score.Recovered = recovered
	soon, back95 := s.reaches(BackShare*before, resumed, until)
	score.BackSoon = back95 && soon-e.Began <= BackWithin
	healed := min(e.Healed, until)
	back = max(healed, at)
	if !score.Recovered {
		at, back = until, max(healed, resumed)
	}
	score.Recovery = at - e.Began
	score.DipPercent = s.dip(e.Began, max(healed, at), before)
	score.FaultPerS = s.rate(e.Began, healed)
	score.AfterPerS = s.rate(healed, until)
	score.LevelPerS = s.rate(back, until)
	if back >= until { // the fault lasted until the next one
		score.LevelPerS = s.rate(resumed, until)
	}
	return score, back
}

// reaches returns the start of the first half second between from and until that has at least the
// given rate. found is false if no half second has it.
func (s Series) reaches(rate float64, from, until time.Duration) (at time.Duration, found bool) {
	for at = from; at+stretch <= until; at += SampleEvery {
		if s.rate(at, at+stretch) >= rate {
			return at, true
		}
	}
	return at, false
}

// outage finds the longest time without a cycle that starts between from and latest. It returns the
// end of that time. If the outage did not end before until, end is until, and ended is false. found
// is false if there is no outage.
func (s Series) outage(from, latest, until time.Duration) (end time.Duration, ended, found bool) {
	longest := gapLeast - 1
	first, exact := s.find(from)
	if !exact {
		first = max(0, first-1)
	}
	for i := first; i < len(s) && s[i].At <= latest && s[i].At < until; {
		j := i + 1
		for j < len(s) && s[j].Total == s[i].Total && s[j].At < until {
			j++
		}
		over, acknowledged := until, j < len(s) && s[j].Total != s[i].Total && s[j].At <= until
		if acknowledged {
			over = s[j].At
		}
		// If an outage started before from, only the part after from counts.
		if begun := max(s[i].At, from); over-begun > longest {
			longest, end, ended, found = over-begun, over, acknowledged, true
		}
		i = j
	}
	return end, ended, found
}

func (s Series) rate(from, to time.Duration) float64 {
	if to <= from {
		return 0
	}
	return (s.total(to) - s.total(from)) / (to - from).Seconds()
}

func (s Series) find(at time.Duration) (i int, exact bool) {
	return slices.BinarySearchFunc(s, at, func(p Point, at time.Duration) int { return int(p.At - at) })
}

// total returns the number of cycles that were acknowledged up to the given time, interpolated
// between two points.
func (s Series) total(at time.Duration) float64 {
	i, _ := s.find(at)
	switch {
	case i == 0:
		return float64(s[0].Total)
	case i == len(s):
		return float64(s[i-1].Total)
	}
	before, after := s[i-1], s[i]
	part := float64(at-before.At) / float64(after.At-before.At)
	return float64(before.Total) + part*float64(after.Total-before.Total)
}

// dip returns how far the rate in the worst slot between two times was below the baseline, in
// percent of the baseline.
func (s Series) dip(from, to time.Duration, baseline float64) float64 {
	worst := baseline
	for at := from; at+slot <= to; at += SampleEvery {
		worst = min(worst, s.rate(at, at+slot))
	}
	return 100 * (1 - worst/baseline)
}

// Slots returns the length of a slot and the number of cycles that were acknowledged in each slot
// of the series, for a plot.
func (s Series) Slots() (every time.Duration, cycles []float64) {
	if len(s) == 0 {
		return slot, nil
	}
	for at := s[0].At; at+slot <= s[len(s)-1].At; at += slot {
		cycles = append(cycles, math.Round(s.total(at+slot)-s.total(at)))
	}
	return slot, cycles
}

// Sample reads the number of cycles every SampleEvery, starting at began. It ends when the window
// has passed or ctx is done.
func Sample(ctx context.Context, began time.Time, window time.Duration, cycles func() uint64) Series {
	ticker := time.NewTicker(SampleEvery)
	defer ticker.Stop()
	series := make(Series, 0, int(window/SampleEvery)+2)
	for {
		at := time.Since(began)
		series = append(series, Point{At: at, Total: cycles()})
		if at >= window {
			return series
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return series
		}
	}
}

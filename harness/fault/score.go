package fault

import (
	"errors"
	"math"
	"slices"
	"time"
)

// Point is the number of cycles acknowledged until a time since the window's start.
type Point struct {
	At    time.Duration
	Total uint64
}

// Series is a sequence of points, ordered by time.
type Series []Point

const (
	// SampleEvery is the interval between the points of a series.
	SampleEvery = 10 * time.Millisecond
	// slot is the interval over which the rate is averaged to find its deepest fall.
	slot = 100 * time.Millisecond
	// stretch is how long the rate must remain recovered.
	stretch = 500 * time.Millisecond
	// RecoveredShare is the share of the rate before a fault that counts as recovered. The rate of
	// a healthy cluster on a shared host varies by as much from one second to the next.
	RecoveredShare = 0.8
	// BackShare is the share of the rate before a fault that the load must reach, over half a
	// second, to be back soon.
	BackShare = 0.95
	// BackWithin is the longest time from a fault to the begin of that half second.
	BackWithin = time.Second
	// gapLeast is the shortest time without a cycle that counts as an outage. A busy host causes
	// shorter gaps in a steady load.
	gapLeast = slot
	// gapLatest is the longest time from a fault to the outage that it causes.
	gapLatest = time.Second
)

// Score is the effect of one fault on the load. Times count from the begin of the fault.
type Score struct {
	// FirstAck is the time of the first acknowledged cycle after the outage; 0 without an outage.
	// If Silent, no cycle was acknowledged until the next fault or the window's end, and FirstAck
	// is the time until then.
	FirstAck time.Duration
	Silent   bool
	// BeforePerS is the rate in cycles a second since the load recovered from the previous fault,
	// or since the first point. If that interval was shorter than half a second, or had no cycle,
	// it is the BeforePerS of the previous fault.
	BeforePerS float64
	// Recovery is when the rate first returned to RecoveredShare of BeforePerS and remained there
	// for half a second.
	Recovery time.Duration
	// Recovered reports that the rate recovered before the next fault and the window's end. If
	// false, Recovery is the time until then.
	Recovered bool
	// BackSoon reports that the load reached BackShare of BeforePerS within BackWithin of the
	// fault, and remained there for half a second.
	BackSoon bool
	// DipPercent is how far the rate fell below BeforePerS in the worst tenth of a second, until
	// the rate had recovered and the fault had ended.
	DipPercent float64
	// FaultPerS is the rate in cycles a second during the fault, and AfterPerS the rate from its
	// end to the next fault.
	FaultPerS float64
	AfterPerS float64
	// LevelPerS is the rate after the recovery: from when the fault had ended and the load had
	// recovered, to the next fault. Without a recovery it counts from the first cycle.
	LevelPerS float64
}

// Scores are the scores of all faults in a window.
type Scores struct {
	BaselinePerS float64 // before the first fault
	// BaselineDipPercent is the dip in the worst tenth of a second before the first fault. Dips of
	// this depth occur without a fault.
	BaselineDipPercent float64
	Events             []Score
}

// Judge scores the events of a window, which must be ordered by time, from the acknowledged cycles.
// Judge fails if there is no load before the first event, because there is no baseline then.
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

// score scores one event against the rate before it; until is the next event or the end. It also
// returns since when the load was back.
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

// reaches returns the begin of the first half second between two times with at least the given
// rate.
func (s Series) reaches(rate float64, from, until time.Duration) (at time.Duration, found bool) {
	for at = from; at+stretch <= until; at += SampleEvery {
		if s.rate(at, at+stretch) >= rate {
			return at, true
		}
	}
	return at, false
}

// outage returns the end of the longest time without a cycle that begins between from and latest.
// If the outage did not end before until, end is until, and ended is false.
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
		// An outage that began before from counts only from there.
		if begun := max(s[i].At, from); over-begun > longest {
			longest, end, ended, found = over-begun, over, acknowledged, true
		}
		i = j
	}
	return end, ended, found
}

// rate returns the rate of the cycles between two times, in cycles a second.
func (s Series) rate(from, to time.Duration) float64 {
	if to <= from {
		return 0
	}
	return (s.total(to) - s.total(from)) / (to - from).Seconds()
}

// find returns the index of the first point at or after a time.
func (s Series) find(at time.Duration) (i int, exact bool) {
	return slices.BinarySearchFunc(s, at, func(p Point, at time.Duration) int { return int(p.At - at) })
}

// total returns the number of cycles acknowledged until a time, interpolated between two points.
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
// percent.
func (s Series) dip(from, to time.Duration, baseline float64) float64 {
	worst := baseline
	for at := from; at+slot <= to; at += SampleEvery {
		worst = min(worst, s.rate(at, at+slot))
	}
	return 100 * (1 - worst/baseline)
}

// Slots returns the number of cycles acknowledged in each tenth of a second of the series, for a
// plot.
func (s Series) Slots() (every time.Duration, cycles []float64) {
	if len(s) == 0 {
		return slot, nil
	}
	for at := s[0].At; at+slot <= s[len(s)-1].At; at += slot {
		cycles = append(cycles, math.Round(s.total(at+slot)-s.total(at)))
	}
	return slot, cycles
}

package ui

import (
	"sync"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
)

// These constants limit the samples for charts.
const (
	samplesMax       = 60
	sampledQueuesMax = 1_000
	sampleEvery      = 2 * time.Second
	sampleMax        = time.Hour // older samples are not drawn
)

// sample contains a queue's figures at one moment.
type sample struct {
	at             time.Time
	depth          float64 // tasks that are ready, delayed or leased
	enters, leaves float64 // per second
	failures       uint64  // since a time that may change: see adminpb.QueueEvents
}

// samples contains recent figures of the queues that pages show. Only showing a queue takes a
// sample, so the charts cost nothing while no page is open.
type samples struct {
	now func() time.Time

	mu sync.Mutex
	of map[queueKey][]sample // oldest first; guarded by mu
}

type queueKey struct{ tenant, name string }

func newSamples(now func() time.Time) *samples {
	return &samples{now: now, of: map[queueKey][]sample{}}
}

// add adds the figures of a queue and returns its samples, oldest first.
func (s *samples) add(q *adminpb.Queue) []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := queueKey{q.GetTenant(), q.GetQueue()}, s.now()
	all := s.of[key]
	for len(all) > 0 && (now.Sub(all[0].at) > sampleMax || len(all) >= samplesMax) {
		all = all[1:]
	}
	latest := sample{
		at: now, depth: float64(q.GetReady() + q.GetDelayed() + q.GetWaiting() + q.GetLeased()),
		enters: q.GetEnqueuedPerS(), leaves: q.GetCompletedPerS(), failures: failuresOf(q),
	}
	if n := len(all); n > 0 && now.Sub(all[n-1].at) < sampleEvery {
		return append(append([]sample(nil), all...), latest)
	}
	if all == nil && len(s.of) >= sampledQueuesMax {
		s.dropOldestLocked()
	}
	s.of[key] = append(append(make([]sample, 0, samplesMax), all...), latest)
	return s.of[key]
}

// dropOldestLocked removes the queue whose latest sample is the oldest. The caller holds mu.
func (s *samples) dropOldestLocked() {
	var oldest queueKey
	var at time.Time
	for key, all := range s.of {
		if last := all[len(all)-1].at; at.IsZero() || last.Before(at) {
			oldest, at = key, last
		}
	}
	delete(s.of, oldest)
}

func depths(all []sample) []line {
	return []line{{"depth", of(all, func(s sample) float64 { return s.depth })}}
}

func rates(all []sample) []line {
	return []line{
		{"in", of(all, func(s sample) float64 { return s.enters })},
		{"out", of(all, func(s sample) float64 { return s.leaves })},
	}
}

func of(all []sample, value func(sample) float64) []point {
	points := make([]point, len(all))
	for i, s := range all {
		points[i] = point{s.at, value(s)}
	}
	return points
}

// failuresOf returns the number of attempts of a queue that did not complete their task.
func failuresOf(q *adminpb.Queue) uint64 {
	return q.GetEvents().GetFailedAttempts() + q.GetEvents().GetExpiredLeases()
}

// failing returns the failures per second between each two samples. A counter that started again is
// no failure.
func failing(all []sample) []line {
	var points []point
	for i := 1; i < len(all); i++ {
		more, less := all[i], all[i-1]
		passed := more.at.Sub(less.at).Seconds()
		if passed <= 0 {
			continue
		}
		points = append(points, point{more.at, float64(max(more.failures, less.failures)-less.failures) / passed})
	}
	return []line{{"failing", points}}
}

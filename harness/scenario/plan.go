package scenario

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Rounds are how many rounds of each kind a run has, over all points.
type Rounds struct {
	Timed       int
	Profiled    int
	Calibrating int // closed rounds that find the peak of a point
}

// Total is how many there are.
func (r Rounds) Total() int { return r.Timed + r.Profiled + r.Calibrating }

// PlannedRounds returns how many rounds a run has: the timed ones of each point, one more that is
// profiled where there are captures, and one where a rate is a part of the peak.
func (s *Scenario) PlannedRounds() Rounds {
	var r Rounds
	for _, p := range s.Plan() {
		r.Timed += s.Rounds
		r.Profiled += s.Profiles()
		if Any(p.Workloads, func(w Workload) bool { return w.Arrivals.OfPeak() }) {
			r.Calibrating++
		}
	}
	return r
}

// RepeatsMax is how many repetitions of invalid rounds a run has at most: a quarter of the timed
// ones. A host that was unfit in more of them was unfit for the run. A soak repeats none.
func (s *Scenario) RepeatsMax() int {
	if s.Soak != nil {
		return 0
	}
	return (s.PlannedRounds().Timed + 3) / 4
}

// Duration is how long all rounds of all points take at most, those that are profiled or calibrate
// included: each its warm-up, its window and its whole drain, and the timed ones their backlog.
// Starting and stopping the topology comes on top, and so do repetitions of invalid rounds. A soak
// has one warm-up, and its windows.
func (s *Scenario) Duration() time.Duration {
	if s.Soak != nil {
		return s.soakLasts(s.Phases.LongestWarmup(), s.Phases.Drain)
	}
	var backlog time.Duration
	if s.Backlog != nil {
		backlog = s.Backlog.Fill + s.Backlog.Drain
		if s.Backlog.Reference > 0 {
			backlog *= 2
		}
	}
	return s.lasts(s.Phases.LongestWarmup(), s.Phases.Drain, backlog)
}

// soakLasts is how long a soak takes: one warm-up, then its windows, each with a drain.
func (s *Scenario) soakLasts(warmup, drain time.Duration) time.Duration {
	return warmup + time.Duration(s.SoakWindows(s.Soak.For))*(s.Phases.Window+drain)
}

func (s *Scenario) lasts(warmup, rest, backlog time.Duration) time.Duration {
	r := s.PlannedRounds()
	references := time.Duration(r.Total()+1) * s.referencesExpected()
	backlogs := r.Timed
	if Any(s.Workloads, Workload.ClaimsAlone) { // it is the load of every round
		backlogs = r.Total()
	}
	return time.Duration(r.Total())*(warmup+s.Phases.Window+rest) + time.Duration(backlogs)*backlog + references
}

// What a round of a server that is well takes besides its warm-up and its window, as seen on two
// cores.
const (
	referenceStartExpected = 15 * time.Millisecond  // to connect to an echo or to open a store, and to stop it
	bareStartExpected      = 200 * time.Millisecond // to start two processes and to stop them
	startExpected          = time.Second            // to start one process and stop it
	clusterStartExpected   = 3 * time.Second        // a cluster elects leaders
	hostsStartExpected     = time.Second            // to make hosts, and to measure the round trips between them
	othersStartExpected    = 6 * time.Second        // a cluster of another queue server forms and elects leaders
	// DrainExpected is how long its drain takes.
	DrainExpected = time.Second
	// backlogPerSExpected is at how many tasks a second a backlog is filled and drained.
	backlogPerSExpected = 50_000
)

// StartExpected is how long it takes to start the topology and to stop it: an estimate.
func (s *Scenario) StartExpected() time.Duration {
	expected := startExpected
	for _, p := range s.Plan() {
		switch {
		case p.Topology.Hosts != nil:
			expected = max(expected, clusterStartExpected+hostsStartExpected)
		case p.Topology.Clustered():
			expected = max(expected, clusterStartExpected)
		case p.Topology.startsNodesByProgram():
			expected = max(expected, othersStartExpected)
		}
	}
	return expected
}

// Expected is how long a run takes if all goes well, Duration at most and the start of the topology
// included: an estimate.
func (s *Scenario) Expected() time.Duration {
	if s.Soak != nil {
		return s.StartExpected() + s.soakLasts(s.Phases.Warmup, min(s.Phases.Drain, DrainExpected))
	}
	rest := s.StartExpected() + min(s.Phases.Drain, DrainExpected)
	var backlog time.Duration
	if l := s.Backlog; l != nil {
		one := func(tasks int, most time.Duration) time.Duration {
			return min(most, time.Duration(tasks)*time.Second/backlogPerSExpected)
		}
		for _, tasks := range []int{l.Tasks, l.Reference} {
			backlog += one(tasks, l.Fill) + one(tasks, l.Drain)
		}
	}
	return s.lasts(s.Phases.Warmup, rest, backlog)
}

// Offered is how many tasks all workloads of a point send in a window whatever the server does, and
// whether that is known: not of closed loads, which send as the server answers, nor of parts of a
// peak.
func (p Point) Offered(window time.Duration) (tasks float64, known bool) {
	for _, w := range p.Workloads {
		if !w.Arrivals.Timed() || w.Arrivals.OfPeak() {
			return 0, false
		}
		tasks += w.Arrivals.due(window)
	}
	return tasks, len(p.Workloads) > 0
}

// due is how many tasks arrivals at known rates make due in a window.
func (a Arrivals) due(window time.Duration) float64 {
	base, to := a.Rate.PerSecond, a.To.PerSecond
	switch a.Kind {
	case Stages:
		return a.stagesDue(window)
	case Ramp:
		over := min(a.Over, window)
		reached := base + (to-base)*over.Seconds()/a.Over.Seconds()
		return (base+reached)/2*over.Seconds() + reached*(window-over).Seconds()
	case Burst:
		whole := window / a.Every
		inLast := max(0, window-whole*a.Every-(a.Every-a.Over)) // of a burst that has begun
		return base*window.Seconds() + (to-base)*(whole*a.Over+inLast).Seconds()
	}
	return base * window.Seconds()
}

// IntervalCycles returns how many independent cycles it takes for the 95 % interval of a
// percentile, 0 to 100, to have an end: the least n of which not all lie below the percentile with
// a probability of 97.5 %, so p^n at most 0.025 (the order statistics' interval, of which
// stat.Summarise takes that of the median).
func IntervalCycles(percentile float64) int {
	p := percentile / 100
	if !(p > 0 && p < 1) {
		return 0
	}
	return int(math.Ceil(math.Log(0.025) / math.Log(p)))
}

// String writes the topology in words: "single", "sharded, 4 shards", "raft, 3 nodes".
func (t Topology) String() string {
	words := []string{t.Kind}
	if t.Target != nil {
		words[0] += " " + t.Target.Name
	}
	if t.Kind == Raft || t.Kind == Remote || t.Kind == ByProgram {
		words = append(words, plural(t.Nodes, "node"))
	}
	if t.Shards > 1 {
		words = append(words, plural(t.Shards, "shard"))
	}
	return strings.Join(words, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package scenario

import (
	"math"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
)

// Rounds counts the rounds of each kind in a run, over all points.
type Rounds struct {
	Timed       int
	Profiled    int
	Calibrating int // closed rounds that find the peak of a point
}

// Total returns the number of rounds of all kinds.
func (r Rounds) Total() int { return r.Timed + r.Profiled + r.Calibrating }

// PlannedRounds returns the number of rounds of a run: for each point the timed rounds, the
// profiled rounds if there are captures, and one calibrating round if a rate is a multiple of the
// peak.
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

// RepeatsMax returns the largest number of repetitions of invalid rounds in a run: a quarter of the
// timed rounds. A host that is unfit in more rounds than that is unfit for the run. A soak repeats
// no round.
func (s *Scenario) RepeatsMax() int {
	if s.Soak != nil {
		return 0
	}
	return (s.PlannedRounds().Timed + 3) / 4
}

// Duration returns the longest total time of all rounds of all points: warm-up, window and drain of
// each round, including profiled and calibrating rounds, and the backlog of timed rounds. It
// excludes the start and stop of the topology and repetitions of invalid rounds. A soak has one
// warm-up and its windows.
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

func (s *Scenario) soakLasts(warmup, drain time.Duration) time.Duration {
	return warmup + time.Duration(s.SoakWindows(s.Soak.For))*(s.Phases.Window+drain)
}

func (s *Scenario) lasts(warmup, rest, backlog time.Duration) time.Duration {
	r := s.PlannedRounds()
	references := time.Duration(r.Total()+1) * s.referencesExpected()
	backlogs := r.Timed
	if Any(s.Workloads, Workload.ClaimsAlone) { // every round has the backlog as its load
		backlogs = r.Total()
	}
	return time.Duration(r.Total())*(warmup+s.Phases.Window+rest) + time.Duration(backlogs)*backlog + references
}

// Typical times of the parts of a round outside of its warm-up and window, with healthy servers,
// measured on two cores.
const (
	referenceStartExpected = 15 * time.Millisecond  // to start and stop an echo or a store
	bareStartExpected      = 200 * time.Millisecond // to start two processes and to stop them
	startExpected          = time.Second            // to start one process and stop it
	clusterStartExpected   = 3 * time.Second        // includes the election of leaders
	hostsStartExpected     = time.Second            // to make hosts and measure their round trips
	othersStartExpected    = 6 * time.Second        // a cluster of other servers
	// DrainExpected is the time for the drain of a round.
	DrainExpected = time.Second
	// backlogPerSExpected is the rate in tasks per second at which a backlog is filled and drained.
	backlogPerSExpected = 50_000
)

// StartExpected returns an estimate of the time to start and stop the topology.
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

// Expected returns an estimate of the duration of a run with healthy servers: at most Duration,
// plus the starts of the topology.
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

// Offered returns the number of tasks that all workloads of a point send in a window, independent
// of the server. It is unknown for closed loads, which depend on the server's answers, and for
// rates that are multiples of the peak.
func (p Point) Offered(window time.Duration) (tasks float64, known bool) {
	for _, w := range p.Workloads {
		if !w.Arrivals.Timed() || w.Arrivals.OfPeak() {
			return 0, false
		}
		tasks += w.Arrivals.due(window)
	}
	return tasks, len(p.Workloads) > 0
}

// due returns the number of tasks that become due in a window. All rates must be known.
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

// IntervalCycles returns the number of independent cycles from which on the 95 % interval of a
// percentile, 0 to 100, has an upper end. That is the smallest n for which the probability that all
// n cycles lie below the percentile, p^n, is at most 0.025. It is the interval by order statistics,
// which stat.Summarise uses for the median. It returns 0 unless the percentile is above 0 and below
// 100.
func IntervalCycles(percentile float64) int {
	p := percentile / 100
	if !(p > 0 && p < 1) {
		return 0
	}
	return int(math.Ceil(math.Log(0.025) / math.Log(p)))
}

// String formats the topology as text: "single", "sharded, 4 shards", "raft, 3 nodes".
func (t Topology) String() string {
	words := []string{t.Kind}
	if t.Target != nil {
		words[0] += " " + t.Target.Name
	}
	if t.Kind == Raft || t.Kind == Remote || t.Kind == ByProgram {
		words = append(words, render.Plural(t.Nodes, "node"))
	}
	if t.Shards > 1 {
		words = append(words, render.Plural(t.Shards, "shard"))
	}
	return strings.Join(words, ", ")
}

// Package scenario is the language that scenarios are written in: it parses files of HCL, checks
// them, and yields plain values. One file of this package per block kind.
package scenario

import (
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// RoundsMax is how many timed rounds a run has at most.
const RoundsMax = 1000

// ProcsMax is the largest GOMAXPROCS that a scenario may ask for.
const ProcsMax = 1024

// ProfiledRoundsMax is how many profiled rounds a point has at most.
const ProfiledRoundsMax = 100

// PointsMax is how many points all sweeps of a scenario make together at most.
const PointsMax = 64

// Scenario is one checked scenario block, every default filled in.
type Scenario struct {
	Name     string
	Title    string
	Tags     []string
	Topology Topology // with a sweep: of the first point
	// Workloads are put on the topology at once, at least one, in the file's order; with a sweep likewise.
	Workloads []Workload
	Phases    Phases
	Rounds    int // timed rounds of each point
	// ProfiledRounds are those of each point that are profiled and not timed, where Captures is not empty; 0 stands for 1.
	ProfiledRounds int
	Backlog        *Backlog
	Attack         *Attack // with a sweep: of the first point; nil without one
	// SeriesEvery is the time between the samples of a window's series; 0: none is taken.
	SeriesEvery time.Duration
	Captures    []Capture
	Invariants  []Invariant
	Validity    Validity
	Faults      []Fault // in the order in which they first begin; no two overlap
	Sweeps      []Sweep
	// Points are all combinations of the swept values, the last sweep's changing fastest; nil without a sweep.
	Points []Point
	// Variables are those of its file and of what that includes, in the order of the files.
	Variables []Variable
	File      string // the path it was read from, as given
}

// Variable is a value of a file that can be given from outside.
type Variable = hclfile.Variable

// Sweep is a setting that takes several values, or several such settings that take theirs together.
type Sweep struct {
	Path   string   // "topology.shards", "workload.NAME.workers", or several paths with ", " in between
	Values []string // as written, strings without quotes; 1 to PointsMax; of several paths likewise with ", "
}

// Point is one combination of the swept values, and what it makes of the scenario.
type Point struct {
	Name      string  // "shards=4", or "shards=4, workers=8"; "" for that of a scenario without a sweep
	Values    []Value // one for each sweep, in their order
	Topology  Topology
	Workloads []Workload
	Attack    *Attack
}

// WorkloadsMax is how many workloads a scenario may have.
const WorkloadsMax = 8

// Any reports whether any of some workloads is so.
func Any(workloads []Workload, is func(Workload) bool) bool {
	return slices.ContainsFunc(workloads, is)
}

// Value is what a point takes for one sweep.
type Value struct {
	Path, Text string
}

// Plan returns the points to measure: Points, or without a sweep a single one that is the scenario as it stands.
func (s *Scenario) Plan() []Point {
	if len(s.Points) > 0 {
		return s.Points
	}
	return []Point{{Topology: s.Topology, Workloads: s.Workloads, Attack: s.Attack}}
}

// Topology says which processes are under test.
type Topology struct {
	Kind         string // "single", "sharded", Raft, Embedded or NoTopology
	Nodes        int    // of "raft": how many server processes; 0 of the others, which have one
	Shards       int    // 0 of NoTopology
	Durability   string // "sync", "interval" or "none"
	SyncInterval time.Duration
	Listen       string // "tcp" or "unix"; "" of Embedded and NoTopology
	Procs        int    // each server's GOMAXPROCS; 0: its own choice
	BusyPoll     bool   // the server's gRPC connections poll before their thread sleeps
	NoCoalesce   bool   // of "raft": each command is an entry of the Raft log of its own
}

// Workload says what load is put on the topology.
type Workload struct {
	Name        string
	Driver      string // "stream", "unary", "rest", DriverK6, DriverEmbedded or DriverNull
	Script      Script // of DriverK6
	Procs       int    // the generator's GOMAXPROCS; 0: its own choice
	BusyPoll    bool   // its gRPC connections poll before their thread sleeps
	Connections int    // client connections that producers and workers are spread over; 0 of DriverK6, whose script opens its own
	Tenants     int
	FirstTenant int // the number of its first tenant: no two workloads share one
	Queues      int // per tenant
	Producers   int // 0 only where nothing arrives
	Workers     int // worker slots: each holds one batch at a time
	Batch       int // tasks per call
	Payload     Payload
	Keys        Keys
	// Seed is what the sizes of payloads and the choice of queues are drawn from: with the same one they are the same. 0 of
	// DriverK6, which draws nothing.
	Seed     int
	Arrivals Arrivals
	// InFlight is how many tasks may be sent and not completed. An open load sheds what is due beyond that; the producers
	// of a closed one wait until there is room, and 0 lets them go on.
	InFlight int
	Lease    time.Duration
	// Idempotent has the client give each task a key of its own, under which it enqueues again what it does not know the
	// outcome of.
	Idempotent bool
}

// Script is what k6 runs. Its path is relative to the working directory, unless the scenario's file has an absolute one.
type Script struct {
	Path   string
	SHA256 string // of the file's content when the scenario was read, in hexadecimal; what it imports is not in it
}

// Payload is a distribution of payload sizes in bytes.
type Payload struct {
	Kind string // "fixed", "uniform" or "lognormal"
	Min  int    // no payload is smaller; of a lognormal one what the ledger needs
	Max  int    // none is larger; equals Min when fixed
	// Of a lognormal one: half of the payloads are smaller than Median, and one in a hundred is larger than P99.
	Median int
	P99    int
}

// Keys says to which queue of a producer's own a call goes.
type Keys struct {
	Kind string  // "turn", "uniform" or "zipf"
	Skew float64 // of zipf: queue k of n gets a share in proportion to 1 / (k+1)^Skew; above 0
}

// Rate is how many tasks a second are due: PerSecond of them, or the part OfPeak of the measured peak. One of the two is 0.
type Rate struct {
	PerSecond float64
	OfPeak    float64
}

// Arrivals says when producers send.
type Arrivals struct {
	Kind string // Closed, Open, Ramp, Burst or None
	Rate Rate   // of Open; of Ramp at the window's start, and in the warm-up; of Burst between bursts
	To   Rate   // of Ramp at its end; of Burst within a burst
	// Over is how long a ramp takes, after which its rate stays, or a burst lasts; Every is from one burst's start to the
	// next one's. The first burst begins one Every less one Over after the window's start.
	Over  time.Duration
	Every time.Duration
}

// Timed reports whether tasks are due at times of their own, whatever becomes of those before them.
func (a Arrivals) Timed() bool { return a.Kind == Open || a.Kind == Ramp || a.Kind == Burst }

// OfPeak reports whether any rate is a part of the measured peak.
func (a Arrivals) OfPeak() bool { return a.Rate.OfPeak > 0 || a.To.OfPeak > 0 }

// At returns the arrivals with their parts of the peak as rates, of a peak in cycles a second.
func (a Arrivals) At(peak float64) Arrivals {
	for _, r := range []*Rate{&a.Rate, &a.To} {
		if r.OfPeak > 0 {
			r.PerSecond = r.OfPeak * peak
		}
	}
	return a
}

// Share returns the arrivals at a part of their rates, above 0 and up to 1.
func (a Arrivals) Share(part float64) Arrivals {
	for _, r := range []*Rate{&a.Rate, &a.To} {
		r.PerSecond *= part
		r.OfPeak *= part
	}
	return a
}

// Phases are the parts of a round, in order.
type Phases struct {
	Warmup time.Duration // at least
	// WarmupMax is how long the warm-up takes at most: it goes on until the rate is steady. Up to Warmup, or 0, it takes Warmup.
	WarmupMax time.Duration
	Window    time.Duration
	Drain     time.Duration // at most
}

// Backlog is what a round does after its window: tasks are enqueued that nobody claims, the server is started
// again, and the backlog is drained.
type Backlog struct {
	Tasks int
	// Reference is how many tasks a small backlog has that is filled and drained first, so that the drain of the large
	// one can be compared with the same work; 0: there is none.
	Reference int
	Restart   string        // "none", "term" or "kill": how the server is ended before it drains
	Fill      time.Duration // at most
	Drain     time.Duration // at most
}

// Capture is one kind of profile taken in a profiled round.
type Capture struct {
	Kind string // "cpu", "mutex", "block", "allocs", "goroutine" or "trace"
	// MutexFraction is runtime.SetMutexProfileFraction's argument, for "mutex": 1 records each event.
	MutexFraction int
	// BlockRate is runtime.SetBlockProfileRate's argument, for "block": blocking at least this long is always recorded.
	BlockRate time.Duration
	// CycleLatency is, for "trace", the latency of a cycle that has the servers' last seconds of execution stored, once in
	// a round.
	CycleLatency time.Duration
}

// Profiles is how many profiled rounds each point has.
func (s *Scenario) Profiles() int {
	if len(s.Captures) == 0 {
		return 0
	}
	return max(1, s.ProfiledRounds)
}

// Invariant is a statement that must hold at the end of each round.
type Invariant struct {
	Kind string // Conserved, Isolated or Ordered
	On   string // of Ordered: the name of the workload
}

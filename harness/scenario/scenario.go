// Package scenario is the language that scenarios are written in: it parses files of HCL, checks
// them, and yields plain values. One file of this package per block kind.
package scenario

import "time"

// RoundsMax is how many timed rounds a run has at most.
const RoundsMax = 1000

// ProcsMax is the largest GOMAXPROCS that a scenario may ask for.
const ProcsMax = 1024

// PointsMax is how many points all sweeps of a scenario make together at most.
const PointsMax = 64

// Scenario is one checked scenario block, every default filled in.
type Scenario struct {
	Name     string
	Title    string
	Tags     []string
	Topology Topology // with a sweep: of the first point
	Workload Workload // likewise
	Phases   Phases
	Rounds   int // timed rounds of each point; a profiled round is added when Captures is not empty
	Backlog  *Backlog
	// SeriesEvery is the time between the samples of a window's series; 0: none is taken.
	SeriesEvery time.Duration
	Captures    []Capture
	Invariants  []Invariant
	Faults      []Fault // in the order in which they first begin; no two overlap
	Sweeps      []Sweep
	// Points are all combinations of the swept values, the last sweep's changing fastest; nil without a sweep.
	Points []Point
	File   string // the path it was read from, as given
}

// Sweep is a setting that takes several values.
type Sweep struct {
	Path   string   // "topology.shards", "workload.NAME.workers"
	Values []string // as written, strings without quotes; 1 to PointsMax
}

// Point is one combination of the swept values, and what it makes of the scenario.
type Point struct {
	Name     string  // "shards=4", or "shards=4, workers=8"; "" for that of a scenario without a sweep
	Values   []Value // one for each sweep, in their order
	Topology Topology
	Workload Workload
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
	return []Point{{Topology: s.Topology, Workload: s.Workload}}
}

// Topology says which processes are under test.
type Topology struct {
	Kind         string // "single", "sharded" or "raft"
	Nodes        int    // of "raft": how many server processes; 0 of the others, which have one
	Shards       int
	Durability   string // "sync", "interval" or "none"
	SyncInterval time.Duration
	Listen       string // "tcp" or "unix"
	Procs        int    // each server's GOMAXPROCS; 0: its own choice
	BusyPoll     bool   // the server's gRPC connections poll before their thread sleeps
	NoCoalesce   bool   // of "raft": each command is an entry of the Raft log of its own
}

// Workload says what load is put on the topology.
type Workload struct {
	Name        string
	Driver      string // "stream", "unary" or "rest"
	Procs       int    // the generator's GOMAXPROCS; 0: its own choice
	BusyPoll    bool   // its gRPC connections poll before their thread sleeps
	Connections int    // client connections that producers and workers are spread over
	Tenants     int
	Queues      int // per tenant
	Producers   int // 0 only where nothing arrives
	Workers     int // worker slots: each holds one batch at a time
	Batch       int // tasks per call
	Payload     Payload
	Arrivals    Arrivals
	// InFlight is how many tasks may be sent and not completed. An open load sheds what is due beyond that; the producers
	// of a closed one wait until there is room, and 0 lets them go on.
	InFlight int
	Lease    time.Duration
	// Idempotent has the client give each task a key of its own, under which it enqueues again what it does not know the
	// outcome of.
	Idempotent bool
}

// Payload is a distribution of payload sizes in bytes.
type Payload struct {
	Kind string // "fixed" or "uniform"
	Min  int
	Max  int // equals Min when fixed
}

// Arrivals says when producers send.
type Arrivals struct {
	Kind string // Closed, Open or None
	// PerSecond is the rate of an open load, or OfPeak the part of the measured peak that it is to be: one of the
	// two is 0, and both are unless Kind is Open.
	PerSecond float64
	OfPeak    float64
}

// Phases are the parts of a round, in order.
type Phases struct {
	Warmup time.Duration
	Window time.Duration
	Drain  time.Duration // at most
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
	Kind string // "cpu", "mutex", "block", "allocs" or "goroutine"
	// MutexFraction is runtime.SetMutexProfileFraction's argument, for "mutex": 1 records each event.
	MutexFraction int
	// BlockRate is runtime.SetBlockProfileRate's argument, for "block": blocking at least this long is always recorded.
	BlockRate time.Duration
}

// Invariant is a statement that must hold at the end of each round.
type Invariant struct {
	Kind string // "conserved"
}

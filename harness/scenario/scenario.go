// Package scenario is the language that scenarios are written in: it parses files of HCL, checks
// them, and yields plain values. One file of this package per block kind.
package scenario

import "time"

// RoundsMax is how many timed rounds a run has at most.
const RoundsMax = 1000

// ProcsMax is the largest GOMAXPROCS that a scenario may ask for.
const ProcsMax = 1024

// Scenario is one checked scenario block, every default filled in.
type Scenario struct {
	Name       string
	Title      string
	Tags       []string
	Topology   Topology
	Workload   Workload
	Phases     Phases
	Rounds     int // timed rounds; a profiled round is added when Captures is not empty
	Captures   []Capture
	Invariants []Invariant
	File       string // the path it was read from, as given
}

// Topology says which processes are under test.
type Topology struct {
	Kind         string // "single"
	Shards       int
	Durability   string // "sync", "interval" or "none"
	SyncInterval time.Duration
	Listen       string // "tcp" or "unix"
	Procs        int    // the server's GOMAXPROCS; 0: its own choice
}

// Workload says what load is put on the topology.
type Workload struct {
	Name        string
	Driver      string // "stream"
	Procs       int    // the generator's GOMAXPROCS; 0: its own choice
	Connections int    // client connections that producers and workers are spread over
	Tenants     int
	Queues      int // per tenant
	Producers   int
	Workers     int // worker slots: each holds one batch at a time
	Batch       int // tasks per call
	Payload     Payload
	Arrivals    Arrivals
	Lease       time.Duration
}

// Payload is a distribution of payload sizes in bytes.
type Payload struct {
	Kind string // "fixed" or "uniform"
	Min  int
	Max  int // equals Min when fixed
}

// Arrivals says when producers send.
type Arrivals struct {
	Kind string // "closed": each producer sends its next call when the last one was answered
}

// Phases are the parts of a round, in order.
type Phases struct {
	Warmup time.Duration
	Window time.Duration
	Drain  time.Duration // at most
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

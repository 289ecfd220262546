package program

import (
	"context"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

// Target is a kind of queue server that the program can measure.
type Target interface {
	// Describe says what the target is and whether it can be started here.
	Describe(ctx context.Context) Description
	// Launch starts the target's servers with the data in spec.Folder, or attaches to those at spec.Addresses, and returns when they serve and
	// the queues are there.
	Launch(ctx context.Context, spec LaunchSpec) (Server, error)
}

// Description is what a target is. Texts are for people, one sentence each.
type Description struct {
	Name    string `json:"name"`              // as in target "NAME"
	Product string `json:"product"`           // "Redis"
	Version string `json:"version,omitempty"` // of the installed server; "" where it is not installed
	Client  string `json:"client"`            // the client library with its version
	// Missing says why the target cannot be started here and what to do; "" if it can.
	Missing string `json:"missing,omitempty"`
	// Guarantees are the classes that it can be run with, in Prony's words: see Guarantee.
	Guarantees []Guarantee `json:"guarantees"`
	Nodes      []int       `json:"nodes"` // numbers of nodes that it can be run with: 1, or 1 and 3
	// Settings are what makes it as fast as it may be at each guarantee, each with its reason.
	Settings []Setting `json:"settings"`
	// Claim is what its own documentation says of speed and of losses, with where it says so.
	Claim string `json:"claim"`
}

// Setting is one setting of a target's servers or of its client, with the reason for it.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Because string `json:"because"`
}

// Guarantee says when a server acknowledges.
type Guarantee string

// The guarantees, from the weakest on.
const (
	Memory        Guarantee = "memory"         // in the process's memory
	OS            Guarantee = "os"             // written to the operating system
	Fsync         Guarantee = "fsync"          // after an fsync that covers it
	Majority      Guarantee = "majority"       // in the memory or files of most nodes
	MajorityFsync Guarantee = "majority_fsync" // after an fsync on most nodes
)

// LaunchSpec says how a target's servers are launched and what the load will ask of them.
type LaunchSpec struct {
	Target    string            `json:"target"`
	Folder    string            `json:"folder"` // of this launch alone; made by the caller
	Guarantee Guarantee         `json:"guarantee"`
	Nodes     int               `json:"nodes"`
	Addresses []string          `json:"addresses,omitempty"` // attach instead of start
	Queues    []Queue           `json:"queues"`              // every queue that the load will use
	Batch     int               `json:"batch"`               // tasks a call at most
	Lease     time.Duration     `json:"lease_ns"`
	Settings  map[string]string `json:"settings,omitempty"` // the scenario's own, by the server's names; an unknown one is an error that names it
}

// Queue is a queue of a tenant.
type Queue struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
}

// Server are the launched servers of a target.
type Server interface {
	PIDs() []int                                   // of the servers' processes, for CPU time and memory; nil where attached
	Dial(ctx context.Context) (driver.Conn, error) // a new connection; any number may be open
	Kill(ctx context.Context) error                // kill -9 of every server process; an error where attached
	Restart(ctx context.Context) error             // starts them again on the same data, after Kill, and returns when they serve
	Stop(ctx context.Context) error                // ends them and frees everything but the folder
}

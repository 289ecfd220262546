package program

import (
	"context"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

// Target is a kind of queue server that the program can measure.
type Target interface {
	// Describe returns the properties of the target, and whether it can be started here.
	Describe(ctx context.Context) Description
	// Launch starts the target's servers with data in spec.Folder, or attaches to the servers at
	// spec.Addresses. It returns when the servers are ready and the queues exist.
	Launch(ctx context.Context, spec LaunchSpec) (Server, error)
}

// Description describes a target. Texts are for people, one sentence each.
type Description struct {
	Name    string `json:"name"`              // as in target "NAME"
	Product string `json:"product"`           // "Redis"
	Version string `json:"version,omitempty"` // of the installed server; "" if it is not installed
	Client  string `json:"client"`            // the client library with its version
	// Missing is the reason why the target cannot be started here, with the remedy; "" if it can.
	Missing string `json:"missing,omitempty"`
	// Guarantees are the supported classes, in Prony's terms: see Guarantee.
	Guarantees []Guarantee `json:"guarantees"`
	Nodes      []int       `json:"nodes"` // supported numbers of nodes: 1, or 1 and 3
	// Settings are the settings that make the target as fast as possible at each guarantee, each
	// with its reason.
	Settings []Setting `json:"settings"`
	// Claim is the statement of its own documentation about speed and losses, with its source.
	Claim string `json:"claim"`
}

// Setting is one setting of a target's servers or of its client, with the reason for it.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Because string `json:"because"`
}

// Guarantee defines when a server acknowledges.
type Guarantee string

// Guarantees, weakest first.
const (
	Memory        Guarantee = "memory"         // in the process's memory
	OS            Guarantee = "os"             // written to the operating system
	Fsync         Guarantee = "fsync"          // after an fsync that covers it
	Majority      Guarantee = "majority"       // in the memory or files of a majority of nodes
	MajorityFsync Guarantee = "majority_fsync" // after an fsync on a majority of nodes
)

// LaunchSpec defines how to launch a target's servers, and the load that they must support.
type LaunchSpec struct {
	Target    string        `json:"target"`
	Folder    string        `json:"folder"` // exclusive to this launch; created by the caller
	Guarantee Guarantee     `json:"guarantee"`
	Nodes     int           `json:"nodes"`
	Addresses []string      `json:"addresses,omitempty"` // attach instead of start
	Queues    []Queue       `json:"queues"`              // all queues of the load
	Batch     int           `json:"batch"`               // most tasks of a call
	Lease     time.Duration `json:"lease_ns"`
	// Settings are the scenario's settings, by the server's names. An unknown one is an error that
	// names it.
	Settings map[string]string `json:"settings,omitempty"`
}

// Queue is a queue of a tenant.
type Queue struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
}

// Server are the launched servers of a target.
type Server interface {
	// PIDs returns the ids of the servers' processes, for CPU time and memory; nil if attached.
	PIDs() []int
	// Dial opens a connection. The number of connections is not bounded.
	Dial(ctx context.Context) (driver.Conn, error)
	// Kill ends every server process with SIGKILL. It fails if attached.
	Kill(ctx context.Context) error
	// Restart restarts killed servers on the same data, and returns when they are ready.
	Restart(ctx context.Context) error
	// Stop ends the servers and frees everything except the folder.
	Stop(ctx context.Context) error
}

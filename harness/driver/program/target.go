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

// Description describes a target. Texts are for people and consist of one sentence each.
type Description struct {
	Name    string `json:"name"`              // used in target "NAME"
	Product string `json:"product"`           // for example "Redis"
	Version string `json:"version,omitempty"` // of the installed server; "" if it is not installed
	Client  string `json:"client"`            // client library and its version
	// Missing is the reason why the target cannot be started here, with the remedy. It is "" if the
	// target can be started.
	Missing string `json:"missing,omitempty"`
	// Guarantees are the guarantees that the target supports.
	Guarantees []Guarantee `json:"guarantees"`
	Nodes      []int       `json:"nodes"` // supported numbers of nodes: [1] or [1, 3]
	// Settings are the settings that make the target as fast as possible for each guarantee. Each
	// setting has a reason.
	Settings []Setting `json:"settings"`
	// Claim is what the target's own documentation says about its speed and about losses, with the
	// source.
	Claim string `json:"claim"`
}

// Setting is one setting of a target's servers or of its client, and the reason for it.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Because string `json:"because"`
}

// Guarantee defines what must have happened before a server acknowledges a task.
type Guarantee string

// Guarantees, from the weakest to the strongest. Each comment says where the task is when the
// server acknowledges it.
const (
	Memory   Guarantee = "memory"   // in the memory of the process
	OS       Guarantee = "os"       // written to the operating system
	Fsync    Guarantee = "fsync"    // on disk: an fsync after the write has finished
	Majority Guarantee = "majority" // in the memory or files of a majority of nodes
	// on the disks of a majority of nodes, after an fsync
	MajorityFsync Guarantee = "majority_fsync"
)

// LaunchSpec defines how to launch a target's servers. It also describes the load that they must
// support.
type LaunchSpec struct {
	Target    string    `json:"target"`
	Folder    string    `json:"folder"` // used only by this launch; created by the caller
	Guarantee Guarantee `json:"guarantee"`
	Nodes     int       `json:"nodes"`
	// if not empty, attach to these servers instead of starting any
	Addresses []string      `json:"addresses,omitempty"`
	Queues    []Queue       `json:"queues"` // all queues that the load uses
	Batch     int           `json:"batch"`  // maximum number of tasks in a call
	Lease     time.Duration `json:"lease_ns"`
	// Settings are the scenario's settings. The keys are the names that the server uses. An unknown
	// name is an error that contains the name.
	Settings map[string]string `json:"settings,omitempty"`
}

// Queue is a queue of a tenant.
type Queue struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
}

// Server represents the launched servers of a target.
type Server interface {
	// PIDs returns the IDs of the servers' processes. They are used to read CPU time and memory.
	// PIDs returns nil if the program is attached to running servers.
	PIDs() []int
	// Dial opens a connection. Any number of connections may be open.
	Dial(ctx context.Context) (driver.Conn, error)
	// Kill ends every server process with SIGKILL. It returns an error if the program is attached
	// to running servers.
	Kill(ctx context.Context) error
	// Restart restarts killed servers with their existing data. It returns when they are ready.
	Restart(ctx context.Context) error
	// Stop ends the servers and frees all resources except the folder.
	Stop(ctx context.Context) error
}

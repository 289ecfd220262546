// Package k6run runs a k6 process that puts the load on a target: a script sends and completes the
// tasks. Prony's extension in that process accounts for the tasks and records the figures, by the
// rules of package load.
//
// The harness hands the plan over in the environment, and then talks to the extension over a Unix
// socket, a line of JSON for each message: the extension says when its VUs are ready, the harness
// when the load begins, and the extension how far it is and, once the script has ended, what came
// of it.
package k6run

import (
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Version is that of the messages. Both sides must have the same one: a field under another name
// would be read as zero.
const Version = 2

// The environment of a k6 process. A person may set the first five for a script that runs on its
// own.
const (
	AddressEnv = "PRONY_ADDRESS"  // of the server's gRPC listener; of a cluster those of all nodes, with commas between them
	AdminEnv   = "PRONY_ADMIN"    // of an admin listener, "host:port"
	TokenEnv   = "PRONY_TOKEN"    // the access token's secret
	TLSCAEnv   = "PRONY_TLS_CA"   // the PEM text of the only authority that a server with TLS may have its certificate from
	TLSNameEnv = "PRONY_TLS_NAME" // the name that the certificate must have; the address if it is not set
	PlanEnv    = "PRONY_PLAN"     // the Plan, as JSON
	ControlEnv = "PRONY_CONTROL"  // the path of the Unix socket
	OutcomeEnv = "PRONY_OUTCOME"  // the path of a file for the Instance, of a script that runs on its own
)

// MessageBytesMax bounds a message.
const MessageBytesMax = 4 << 20

// Plan is what a script is to do.
type Plan struct {
	Version  int               `json:"version"`
	Round    uint64            `json:"round"` // the id of the ledger
	Workload scenario.Workload `json:"workload"`
	Phases   scenario.Phases   `json:"phases"`
}

// Begin is what the harness sends once: when the warm-up begins, by the host's clock.
type Begin struct {
	UnixNS int64 `json:"unix_ns"`
}

// Message is what the extension sends. One of its fields is there.
type Message struct {
	Ready    *Ready         `json:"ready,omitempty"`    // the first message
	Progress *load.Progress `json:"progress,omitempty"` // at most four times a second
	Outcome  *Outcome       `json:"outcome,omitempty"`  // the last message
}

// Ready says that the script's VUs are ready to begin.
type Ready struct {
	Version int `json:"version"`
}

// Instance is what one k6 process of several measured, each of which had a part of the load. A
// process that runs on its own writes it to the file that OutcomeEnv names.
type Instance struct {
	Version  int               `json:"version"`
	Name     string            `json:"name"`  // that no other instance has
	Share    float64           `json:"share"` // of the load, above 0 and up to 1
	Arrivals scenario.Arrivals `json:"arrivals"`
	Phases   scenario.Phases   `json:"phases"`
	Outcome  Outcome           `json:"outcome"`
}

// Outcome is what came of a script's load, as load.Outcome is of one that the harness puts on a
// target itself.
type Outcome struct {
	FinishedNS time.Duration `json:"finished_ns"` // when nothing was outstanding, or the script had ended, since the warm-up began
	Cycles     uint64        `json:"cycles"`
	Enqueued   uint64        `json:"enqueued"`
	// Histograms are those of the result, by name and in its encoding: "enqueue", "settle" and
	// "cycle", and of an open load "slip" and "service".
	Histograms map[string]string `json:"histograms"`
	Open       *result.Arrivals  `json:"open,omitempty"` // of an open load
	Clamped    uint64            `json:"clamped,omitempty"`

	RefusedEnqueues    load.Refusals `json:"refused_enqueues"`
	RefusedCompletions load.Refusals `json:"refused_completions"`
	FailedCalls        load.Refusals `json:"failed_calls"`

	Drained  bool          `json:"drained"`
	Draining bool          `json:"draining,omitempty"`
	Ledger   result.Ledger `json:"ledger"`
}

// Package k6run runs a k6 process that puts load on a target: a script sends and completes the
// tasks. Prony's extension in that process accounts for the tasks and records the figures, by the
// rules of package load.
//
// The extension executes commands of the harness, by the rules of package dialogue: after the hello
// it receives the Plan, then the time when the load begins, and then it reports its progress and
// finally its Outcome.
package k6run

import (
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Version is the version of the commands and of an Instance. Both sides must have the same version:
// a renamed field would be read as zero.
const Version = 2

// Names of the commands. Each comment lists the argument and the answer.
const (
	CommandReady  = "ready"  // Plan → none, when the script's VUs are ready to begin
	CommandBegin  = "begin"  // Begin → none
	CommandReport = "report" // none → Report, at most four times a second; ends with the Outcome
)

// Environment variables of a k6 process. A user may set the first five for a script that runs
// without the harness.
const (
	// AddressEnv has the gRPC address of the server, or those of all nodes, separated by commas.
	AddressEnv = "PRONY_ADDRESS"
	// AdminEnv has the address of an admin listener, "host:port".
	AdminEnv = "PRONY_ADMIN"
	// TokenEnv has the secret of the access token.
	TokenEnv = "PRONY_TOKEN"
	// TLSCAEnv has the PEM text of the only authority that may sign the server's certificate.
	TLSCAEnv = "PRONY_TLS_CA"
	// TLSNameEnv has the expected name in the certificate; default: the host of the address.
	TLSNameEnv = "PRONY_TLS_NAME"
	// ControlEnv has the path of the file for answers to the harness, whose commands are on the
	// standard input. It is not set without the harness.
	ControlEnv = "PRONY_CONTROL"
	// OutcomeEnv has the path of a file for the Instance of a script without the harness.
	OutcomeEnv = "PRONY_OUTCOME"
)

// Plan is the load that a script must generate.
type Plan struct {
	Round    uint64            `json:"round"` // id of the ledger
	Workload scenario.Workload `json:"workload"`
	Phases   scenario.Phases   `json:"phases"`
}

// Begin is when the warm-up begins, by the host's clock.
type Begin struct {
	UnixNS int64 `json:"unix_ns"`
}

// Report is the progress of a load, or its outcome when the script has ended.
type Report struct {
	Progress load.Progress `json:"progress"`
	Outcome  *Outcome      `json:"outcome,omitempty"`
}

// Instance has the measurements of one of several k6 processes that share a load. A process without
// the harness writes it to the file that OutcomeEnv names.
type Instance struct {
	Version  int               `json:"version"`
	Name     string            `json:"name"`  // unique among the instances
	Share    float64           `json:"share"` // share of the load, above 0 and up to 1
	Arrivals scenario.Arrivals `json:"arrivals"`
	Phases   scenario.Phases   `json:"phases"`
	Outcome  Outcome           `json:"outcome"`
}

// Outcome is the wire form of load.Outcome, the result of a load.
type Outcome struct {
	// FinishedNS is the time from the begin of the warm-up until no task was outstanding or the
	// script had ended.
	FinishedNS time.Duration `json:"finished_ns"`
	Cycles     uint64        `json:"cycles"`
	Enqueued   uint64        `json:"enqueued"`
	// Histograms are the encoded histograms of a result, by name: "enqueue", "settle" and "cycle",
	// and for an open load also "slip" and "service".
	Histograms map[string]string `json:"histograms"`
	Open       *result.Arrivals  `json:"open,omitempty"` // only for an open load
	Clamped    uint64            `json:"clamped,omitempty"`

	RefusedEnqueues    load.Refusals `json:"refused_enqueues"`
	RefusedCompletions load.Refusals `json:"refused_completions"`
	FailedCalls        load.Refusals `json:"failed_calls"`

	Drained  bool          `json:"drained"`
	Draining bool          `json:"draining,omitempty"`
	Ledger   result.Ledger `json:"ledger"`
}

package generator

import (
	"time"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Spec defines the load of a generator, and the servers that receive the load.
type Spec struct {
	Target   Target            `json:"target"`
	Workload scenario.Workload `json:"workload"` // the field Arrivals is ignored
	// Round identifies the tasks of the load. It must be unique among all generators that use the
	// same servers.
	Round uint64 `json:"round"`
}

// Target contains the addresses of the servers, as in driver.Target.
type Target struct {
	Address string `json:"address"`
	HTTP    string `json:"http,omitempty"`
	Token   string `json:"token,omitempty"`
	// CA is the certificate authority of servers with TLS. The zero value means that the servers do
	// not use TLS.
	CA clienttls.CA `json:"ca,omitzero"`
	// BusyPoll and Idempotent are the settings of the workload with the same names.
	BusyPoll   bool `json:"busy_poll,omitempty"`
	Idempotent bool `json:"idempotent,omitempty"`
}

func (t Target) driver() driver.Target {
	return driver.Target{Address: t.Address, HTTP: t.HTTP, Token: t.Token, CA: t.CA, BusyPoll: t.BusyPoll, Idempotent: t.Idempotent}
}

// Dial returns the dialer for the connections of a Spec. It returns nil unless the driver is
// stream, unary or rest.
func Dial(s Spec) open.Dialer {
	return open.By(s.Workload.Driver, s.Target.driver(), s.Workload.Lease)
}

// Slice is the result of a slice in a closed loop.
type Slice struct {
	Cycles uint64        `json:"cycles"`  // number of completed cycles
	Took   time.Duration `json:"took_ns"` // time until no task was in flight
}

// Report contains the results of all slices of a generator.
type Report struct {
	Ledger result.Ledger       `json:"ledger"`
	Open   *result.DuetLatency `json:"open,omitempty"` // nil if there was no open-loop slice
	// RefusedEnqueues and RefusedCompletions are the numbers of tasks for which the server refused
	// the enqueue or the completion.
	RefusedEnqueues    load.Refusals `json:"refused_enqueues"`
	RefusedCompletions load.Refusals `json:"refused_completions"`
}

type sliceArguments struct {
	Length    time.Duration `json:"length_ns"`
	Seed      uint64        `json:"seed,omitempty"`
	PerSecond float64       `json:"per_second,omitempty"`
}

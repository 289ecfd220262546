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

// Spec says what load a generator puts on which servers.
type Spec struct {
	Target   Target            `json:"target"`
	Workload scenario.Workload `json:"workload"` // whose Arrivals do not matter
	// Round identifies the tasks: no two generators of the same servers have the same one.
	Round uint64 `json:"round"`
}

// Target is where the servers listen, as in driver.Target.
type Target struct {
	Address string `json:"address"`
	HTTP    string `json:"http,omitempty"`
	Token   string `json:"token,omitempty"`
	// CA is the authority of servers with TLS; zero of servers without.
	CA clienttls.CA `json:"ca,omitzero"`
	// BusyPoll and Idempotent are the workload's settings of these names.
	BusyPoll   bool `json:"busy_poll,omitempty"`
	Idempotent bool `json:"idempotent,omitempty"`
}

// driver is the target as drivers know it.
func (t Target) driver() driver.Target {
	return driver.Target{Address: t.Address, HTTP: t.HTTP, Token: t.Token, CA: t.CA, BusyPoll: t.BusyPoll, Idempotent: t.Idempotent}
}

// Dial returns the dialer of a spec's connections; nil of a driver that a generator does not have. It has stream, unary and rest.
func Dial(s Spec) open.Dialer {
	return open.By(s.Workload.Driver, s.Target.driver(), s.Workload.Lease)
}

// Slice is what a slice in a closed loop measured.
type Slice struct {
	Cycles uint64        `json:"cycles"`  // completed
	Took   time.Duration `json:"took_ns"` // until nothing was in flight
}

// Report is what a generator measured over all slices.
type Report struct {
	Ledger result.Ledger       `json:"ledger"`
	Open   *result.DuetLatency `json:"open,omitempty"` // nil without open-loop slices
	// RefusedEnqueues and RefusedCompletions are tasks for which the server refused a call.
	RefusedEnqueues    load.Refusals `json:"refused_enqueues"`
	RefusedCompletions load.Refusals `json:"refused_completions"`
}

// sliceArguments are the arguments of the commands slice and open_slice.
type sliceArguments struct {
	Length    time.Duration `json:"length_ns"`
	Seed      uint64        `json:"seed,omitempty"`
	PerSecond float64       `json:"per_second,omitempty"`
}

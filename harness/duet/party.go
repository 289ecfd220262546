package duet

import (
	"context"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// party runs one side of a generation: its servers and its generator. Calls to one party must not
// be concurrent. Both parties may be called concurrently, with the same method.
type party interface {
	// settings returns the settings that the servers reported once they served.
	settings() []result.ServerSettings
	// cpu reads the CPU clocks of all processes without any other work.
	cpu() (clocks, error)
	// counters reads the current counters of each server over HTTP.
	counters(ctx context.Context) ([]observe.Metrics, error)
	// code reads how the kernel maps the program code of all processes.
	code() (code, error)
	// begin opens the load of a point of the scenario, counted from 0; without a sweep the point is
	// 0. The previous load must be finished.
	begin(ctx context.Context, point int) error
	// slice gives the servers closed load for length and returns when no task is in flight. It
	// returns the number of acknowledged cycles and the time that they took.
	slice(ctx context.Context, length time.Duration) (cycles uint64, took time.Duration, err error)
	// openSlice gives the servers arrivals at a rate, drawn from seed.
	openSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error
	// profile begins captures of the processes and returns once they are recording. It calls mark
	// at both ends of each capture.
	profile(ctx context.Context, captures []scenario.Capture, mark func() profile.Mark) (recording, error)
	// finish ends the current load and returns its measurements and the problems with its tasks.
	finish(ctx context.Context) (finished, error)
	// stop ends all running processes, even if ctx is done. It returns an error if a server did not
	// stop cleanly. It may be called repeatedly.
	stop(ctx context.Context) error
	// failure returns why a server ended unplanned, or nil while all servers run.
	failure() error
}

// clocks is the CPU time used by the processes of a side so far.
type clocks struct{ servers, generator time.Duration }

// finished holds the final measurements of a party's generator and the memory of its servers.
type finished struct {
	ledger   result.Ledger
	open     *result.DuetLatency
	problems []string // problems with the tasks, once none is in flight
	rssMB    float64  // largest total resident memory of the servers so far
	refused  string   // describes the tasks that the servers refused; "" if none
}

// recording is a set of running captures of a party. The caller must call stop, which ends them and
// writes them to a run folder as the profiles of a round. The times of the spans are relative to
// began.
type recording interface {
	stop(ctx context.Context, runDir string, round int, began time.Time) (recorded, error)
}

// recorded holds the profiles of a party in one generation.
type recorded struct {
	captured []profile.Captured
	covered  []result.Covered
	warnings []string
}

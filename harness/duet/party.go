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
// be concurrent. The same method of both parties may be called concurrently.
type party interface {
	// settings returns the settings that the servers reported when they became ready.
	settings() []result.ServerSettings
	// cpu reads the CPU clocks of all processes and does no other work.
	cpu() (clocks, error)
	// counters reads the current counters of each server over HTTP.
	counters(ctx context.Context) ([]observe.Metrics, error)
	// code reads how the kernel maps the program code of all processes.
	code() (code, error)
	// begin opens the load of a point of the scenario. point is counted from 0; it is 0 if there is
	// no sweep. The previous load must be finished.
	begin(ctx context.Context, point int) error
	// slice sends closed load to the servers for the given length, and returns when no task is in
	// flight. It returns the number of acknowledged cycles and the time that they took.
	slice(ctx context.Context, length time.Duration) (cycles uint64, took time.Duration, err error)
	// openSlice sends tasks to the servers at random times. perSecond is the mean rate, and seed
	// determines the times.
	openSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error
	// profile starts captures of the processes and returns once they are recording. It calls mark
	// at the start and at the end of each capture.
	profile(ctx context.Context, captures []scenario.Capture, mark func() profile.Mark) (recording, error)
	// finish ends the current load. It returns the load's measurements and the problems with its
	// tasks.
	finish(ctx context.Context) (finished, error)
	// stop ends all running processes, even if ctx is done. It returns an error if a server did not
	// stop cleanly. It may be called repeatedly.
	stop(ctx context.Context) error
	// failure returns why a server ended unplanned, or nil while all servers run.
	failure() error
}

// clocks contains the CPU time that the processes of a side have used so far.
type clocks struct{ servers, generator time.Duration }

// finished contains the final measurements of a party's generator, and the memory of its servers.
type finished struct {
	ledger   result.Ledger
	open     *result.DuetLatency
	problems []string // problems with the tasks, found after no task is in flight
	rssMB    float64  // maximum so far of the total resident memory of the servers, in MB
	refused  string   // describes the tasks that the servers refused; "" if there are none
}

// recording is a set of captures that are running. The caller must call stop. It ends the captures
// and writes them to a run folder as the profiles of a round. The times of the spans are relative
// to began.
type recording interface {
	stop(ctx context.Context, runDir string, round int, began time.Time) (recorded, error)
}

// recorded contains the profiles of a party in one generation.
type recorded struct {
	captured []profile.Captured
	covered  []result.Covered
	warnings []string
}

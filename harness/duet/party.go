package duet

import (
	"context"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// party is what a generation runs of one side: its servers and its generator. Its methods are called one after the other, except that
// the same method of both parties may be called at once.
type party interface {
	// settings are what the servers said, when they served, that they run with.
	settings() []result.ServerSettings
	// cpu reads the CPU clocks of all processes, and does nothing else.
	cpu() (clocks, error)
	// counters reads over HTTP what each server has counted so far.
	counters(ctx context.Context) ([]observe.Metrics, error)
	// code reads how the kernel maps the program code of all processes.
	code() (code, error)
	// begin opens the load of a point of the scenario, counted from 0; without a sweep it is that of point 0. The load before it was
	// finished.
	begin(ctx context.Context, point int) error
	// slice gives the servers closed load for a length, and returns when nothing is in flight any more: how many cycles were
	// acknowledged, and how long that took.
	slice(ctx context.Context, length time.Duration) (cycles uint64, took time.Duration, err error)
	// openSlice gives them arrivals of a seed at a rate.
	openSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error
	// profile begins captures of the processes, and returns when they are under way. mark is called at both ends of each.
	profile(ctx context.Context, captures []scenario.Capture, mark func() profile.Mark) (recording, error)
	// finish ends the load that was begun last, and returns what it measured and what is wrong with the tasks.
	finish(ctx context.Context) (finished, error)
	// stop ends all processes that still run, also if ctx is done. An error says that a server did not end in order. Further calls
	// do nothing.
	stop(ctx context.Context) error
	// failure says why a server ended by itself; nil while all run.
	failure() error
}

// clocks are what the processes of a side have used of the CPUs so far.
type clocks struct{ servers, generator time.Duration }

// finished is what a party's generator measured by its end, and how large its servers became.
type finished struct {
	ledger   result.Ledger
	open     *result.DuetLatency
	problems []string // with the tasks, when nothing is in flight any more
	rssMB    float64  // largest resident memory of the servers so far, together
	refused  string   // says which tasks the servers refused to take; "" if they took all
}

// recording is a party's profiles while they are taken. stop must be called. It ends them, and writes them to a run folder as those of
// a round. In the spans the time begins with began.
type recording interface {
	stop(ctx context.Context, runDir string, round int, began time.Time) (recorded, error)
}

// recorded are the profiles of a party in one generation.
type recorded struct {
	captured []profile.Captured
	covered  []result.Covered
	warnings []string
}

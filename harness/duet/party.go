package duet

import (
	"context"
	"time"

	"github.com/pronybench/prony/harness/result"
)

// party is what a generation runs of one side: its servers and its generator. Its methods are called one after the other, except that
// the same method of both parties may be called at once.
type party interface {
	// cpu reads the CPU clocks of all processes, and does nothing else.
	cpu() (clocks, error)
	// slice gives the servers closed load for a length, and returns when nothing is in flight any more: how many cycles were
	// acknowledged, and how long that took.
	slice(ctx context.Context, length time.Duration) (cycles uint64, took time.Duration, err error)
	// openSlice gives them arrivals of a seed at a rate.
	openSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error
	// finish ends the generator, and returns what it measured and what is wrong with the tasks.
	finish(ctx context.Context) (finished, error)
	// stop ends all processes that still run, also if ctx is done. An error says that a server did not end in order. Further calls
	// do nothing.
	stop(ctx context.Context) error
	// failure says why a server ended by itself; nil while all run.
	failure() error
}

// clocks are what the processes of a side have used of the CPUs so far.
type clocks struct{ servers, generator time.Duration }

// finished is what a party's generator measured by its end.
type finished struct {
	ledger   result.Ledger
	open     *result.DuetLatency
	problems []string // with the tasks, none of which are in flight
}

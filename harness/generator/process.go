package generator

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc/dialogue"
)

const (
	// openMax bounds the time to open all connections and sessions.
	openMax = 30 * time.Second
	// endMax bounds the time to end the load.
	endMax = 10 * time.Second
)

// Process is a running generator. Only PID and Kill are safe for concurrent use. After a failed
// call only Kill may be called.
type Process struct{ commands *dialogue.Process }

// Command defines how to start a generator's process.
type Command = dialogue.Command

func start(c Command) (*Process, error) {
	commands, err := dialogue.Start("generator", c)
	if err != nil {
		return nil, err
	}
	return &Process{commands}, nil
}

// Start starts a generator and returns when all of its sessions are open. If the workload's Procs
// is above 0, it is the GOMAXPROCS of the generator. The caller must call Finish or Kill.
func Start(ctx context.Context, c Command, spec Spec) (*Process, error) {
	if procs := spec.Workload.Procs; procs > 0 {
		c.Env = append(slices.Clip(c.Env), "GOMAXPROCS="+strconv.Itoa(procs))
	}
	p, err := start(c)
	if err != nil {
		return nil, err
	}
	if err := p.call(ctx, openMax, "open", spec, nil); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	return p, nil
}

// PID returns the ID of the process.
func (p *Process) PID() int { return p.commands.PID() }

// Slice sends tasks in a closed loop for the given time, at most load.SliceMax. It returns when no
// task is in flight.
func (p *Process) Slice(ctx context.Context, length time.Duration) (Slice, error) {
	var s Slice
	err := p.call(ctx, length+load.SliceDrainMax, "slice", sliceArguments{Length: length}, &s)
	return s, err
}

// OpenSlice sends tasks at the random times of a Poisson process for the given time, and returns
// when no task is in flight. perSecond is the mean rate, and seed determines the times. The Report
// contains the latencies of all open-loop slices.
func (p *Process) OpenSlice(ctx context.Context, seed uint64, perSecond float64, length time.Duration) error {
	return p.call(ctx, length+load.SliceDrainMax, "open_slice", sliceArguments{Length: length, Seed: seed, PerSecond: perSecond}, nil)
}

// Finish ends the load and closes the connections. It returns the report when the process has
// ended.
func (p *Process) Finish(ctx context.Context) (Report, error) {
	var r Report
	if err := p.commands.End(ctx, endMax, commandFinish, &r); err != nil {
		return Report{}, err
	}
	return r, nil
}

// Kill ends the process immediately. It does nothing if the process has already ended.
func (p *Process) Kill() error { return p.commands.Kill() }

func (p *Process) call(ctx context.Context, within time.Duration, do string, arguments, done any) error {
	return p.commands.Call(ctx, within, do, arguments, done)
}

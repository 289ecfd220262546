package reference

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// computed stores the result of the computation. Because of this the compiler cannot remove the
// computation.
var computed atomic.Uint64

// stepsPerOperation is the number of dependent steps in one operation of the CPU loop.
const stepsPerOperation = 1000

// operationsPerLook is the number of operations between two readings of the clock. They take about
// 20 us.
const operationsPerLook = 16

// cpu runs a computation on one thread. The CPU time is the CPU time of this thread.
func cpu(ctx context.Context, c Config) (m measured, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadCPU()
	if err != nil {
		return m, err
	}
	began := time.Now()
	state := computed.Load() | 1
	for m.wall < c.For && ctx.Err() == nil {
		for range operationsPerLook {
			state = compute(state)
		}
		m.operations += operationsPerLook
		m.wall = time.Since(began)
	}
	computed.Store(state)
	after, err := threadCPU()
	m.cpu = after - before
	return m, err
}

// compute executes the steps of one operation. A step is xorshift64* without its output function.
func compute(state uint64) uint64 {
	for range stepsPerOperation {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
	}
	return state
}

func threadCPU() (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of a thread: %w", err)
	}
	return time.Duration(t.Nano()), nil
}

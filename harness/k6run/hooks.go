package k6run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/load"
)

// hookCalls are the calls of the hooks at a window's edges, in a separate goroutine.
type hookCalls struct {
	failed chan struct{} // closed when a hook has failed
	done   chan struct{} // closed when the goroutine has ended
	// The rest may only be read after failed or done is closed.
	err        error
	start, end load.HookTimes
}

// callHooks starts a goroutine that calls each hook at its edge, until one fails or ctx is done.
func callHooks(ctx context.Context, e edges, hooks load.Hooks) *hookCalls {
	c := &hookCalls{failed: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		var err error
		if c.start, c.end, err = hooks.AtEdges(ctx, e.windowStart, e.windowEnd); err != nil {
			c.err = fmt.Errorf("k6: %w", err)
			close(c.failed)
		}
	}()
	return c
}

// wait waits for the goroutine to end, at most for most, and returns the error of the hooks.
func (c *hookCalls) wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-timer.C:
		return errors.New("k6: a hook has not returned although the load has ended")
	case <-ctx.Done():
		return stopped(ctx)
	}
}

// hookMargin bounds the wait for a hook whose context is done.
const hookMargin = 5 * time.Second

// abandon waits up to hookMargin for a goroutine whose context is done.
func (c *hookCalls) abandon() {
	timer := time.NewTimer(hookMargin)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	}
}

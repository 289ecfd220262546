package k6run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/load"
)

// hookCalls are the calls of the hooks at a window's edges, by a goroutine of its own.
type hookCalls struct {
	failed chan struct{} // closed when one has failed
	done   chan struct{} // closed when the goroutine has ended
	// Read only after failed, or done.
	err        error
	start, end load.HookTimes
}

// callHooks calls the hooks, each at its edge, until one fails or ctx is done.
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

// wait waits for the goroutine to end, for a while.
func (c *hookCalls) wait(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c.done:
		return c.err
	case <-timer.C:
		return errors.New("k6: a hook had not returned when the load was over")
	case <-ctx.Done():
		return stopped(ctx)
	}
}

// hookMargin is how long a hook is waited for whose context is done.
const hookMargin = 5 * time.Second

// abandon waits for a goroutine whose context is done.
func (c *hookCalls) abandon() {
	timer := time.NewTimer(hookMargin)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
	}
}

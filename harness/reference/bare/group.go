package bare

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// errStopped is the cause when the goroutines of a group end without an error.
var errStopped = errors.New("stopped")

// group is a set of goroutines that end together: with their context, when one fails, or on stop.
type group struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	all    sync.WaitGroup
}

func newGroup(ctx context.Context) *group {
	g := &group{}
	g.ctx, g.cancel = context.WithCancelCause(ctx)
	return g
}

// run runs a function in a goroutine. The function must return when the context of the group ends.
func (g *group) run(do func() error) {
	g.all.Go(func() {
		if err := do(); err != nil {
			g.cancel(err)
		}
	})
}

// failed returns why the group ended; nil while it runs and after a stop without an error.
func (g *group) failed() error {
	if err := context.Cause(g.ctx); !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

// stop ends the goroutines, waits for them and returns the first error.
func (g *group) stop() error {
	g.cancel(errStopped)
	g.all.Wait()
	return g.failed()
}

// send sends to a channel. It returns false if the context of the group ends first.
func send[T any](g *group, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-g.ctx.Done():
		return false
	}
}

// receive receives from a channel. ok is false if the context of the group ends first.
func receive[T any](g *group, from <-chan T) (v T, ok bool) {
	select {
	case v = <-from:
		return v, true
	case <-g.ctx.Done():
		return v, false
	}
}

// gather returns the next value that is already in a channel. If the channel is empty, it yields to
// other goroutines, once for each group of values: on one CPU, goroutines that are about to send
// could not run before.
func gather[T any](from <-chan T, yielded *bool) (v T, has bool) {
	select {
	case v = <-from:
		return v, true
	default:
	}
	if *yielded {
		return v, false
	}
	*yielded = true
	runtime.Gosched()
	select {
	case v = <-from:
		return v, true
	default:
		return v, false
	}
}

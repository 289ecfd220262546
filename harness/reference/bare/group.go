package bare

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// errStopped is the cause if the goroutines of a group end because stop was called.
var errStopped = errors.New("stopped")

// group is a set of goroutines that end together: when their context is done, when one of them
// fails, or when stop is called.
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

// run calls a function in a new goroutine. The function must return when the context of the group
// is done.
func (g *group) run(do func() error) {
	g.all.Go(func() {
		if err := do(); err != nil {
			g.cancel(err)
		}
	})
}

// failed returns the reason why the group ended. It returns nil while the group is running, and if
// stop ended it.
func (g *group) failed() error {
	if err := context.Cause(g.ctx); !errors.Is(err, errStopped) {
		return err
	}
	return nil
}

func (g *group) stop() error {
	g.cancel(errStopped)
	g.all.Wait()
	return g.failed()
}

func send[T any](g *group, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-g.ctx.Done():
		return false
	}
}

func receive[T any](g *group, from <-chan T) (v T, ok bool) {
	select {
	case v = <-from:
		return v, true
	case <-g.ctx.Done():
		return v, false
	}
}

// gather returns the next value that is already in a channel. has is false if the channel is empty.
// Before it gives up, it yields to other goroutines, but only once for each group of values: on a
// single CPU, goroutines that are about to send could not run before.
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

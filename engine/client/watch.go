package client

import "context"

// watch waits for the end of one context on behalf of all calls with that context: waiting for only
// the answer costs half as much as waiting for the answer or the context. Most callers share one
// context. Calls with another context wait for the answer and the context. The mutex of the
// containing type guards the fields.
type watch struct {
	watched <-chan struct{} // the Done channel of the watched context
	last    <-chan struct{} // the Done channel of the last call's context
	same    int             // number of consecutive calls with that context
}

// watchAfter is the number of consecutive calls with the same context after which that context is
// watched. If few calls use a context, the goroutine that watches it would cost more than it saves.
const watchAfter = 32

// covers reports whether a call's context is watched or cannot end. If a watched context ends
// before over is closed, ended is called once. ended must first call forget. The caller must hold
// the mutex.
func (w *watch) covers(ctx context.Context, over <-chan struct{}, ended func(context.Context)) bool {
	done := ctx.Done()
	if done == nil || done == w.watched {
		return true
	}
	if done != w.last {
		w.last, w.same = done, 0
	}
	if w.same++; w.same < watchAfter || w.watched != nil {
		return false
	}
	w.watched, w.same = done, 0
	go func() {
		select {
		case <-done:
			ended(ctx)
		case <-over:
		}
	}()
	return true
}

// forget stops using the watched context. The caller must hold the mutex.
func (w *watch) forget() { w.watched = nil }

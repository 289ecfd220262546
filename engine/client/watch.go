package client

import "context"

// watch waits for the end of one context on behalf of all calls that have it: to wait for an answer or else
// for the context costs twice as much as to wait for the answer. Callers mostly have one and the same; those with
// another context wait for it themselves. Its fields are guarded by the mutex of what it is part of.
type watch struct {
	watched <-chan struct{} // of the context that is watched
	last    <-chan struct{} // of the last call's context
	same    int             // how many calls in a row had it
}

// watchAfter is how many calls in a row have the same context before it is watched: a context of one call is not
// worth it.
const watchAfter = 32

// covers reports whether a call's context is watched, or can't end. ended is called once if it is and ends before
// over; it must begin with forget. The caller holds the mutex.
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

// forget ends the watch. The caller holds the mutex.
func (w *watch) forget() { w.watched = nil }

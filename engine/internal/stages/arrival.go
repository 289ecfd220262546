package stages

import (
	"context"
	"sync/atomic"
	"time"
)

// arrival describes a call whose stage Receive is timed.
type arrival struct {
	times     *Times
	at        time.Duration // time of the arrival, by Now
	standsFor uint64
	submitted atomic.Bool
}

type arrivalKey struct{}

// Arrives returns a context for a call whose message has just been received. The first call of
// Submitted with this context adds the time since then to the stage Receive of times, as a sample
// that represents n calls. A call that is refused, or that another node executes, is not measured.
func Arrives(ctx context.Context, times *Times, n uint64) context.Context {
	return context.WithValue(ctx, arrivalKey{}, &arrival{times: times, at: Now(), standsFor: n})
}

// Submitted records that a command of a call now waits for its shard. ctx is the call's context.
// Submitted has an effect only for a context that Arrives has returned, and only the first time. It
// is safe for concurrent use.
func Submitted(ctx context.Context) {
	a, timed := ctx.Value(arrivalKey{}).(*arrival)
	if timed && a.submitted.CompareAndSwap(false, true) {
		a.times.ObserveSample(Timed{Stage: Receive, Took: Now() - a.at}, a.standsFor)
	}
}

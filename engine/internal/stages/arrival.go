package stages

import (
	"context"
	"sync/atomic"
	"time"
)

// arrival is a call whose stage Receive is timed.
type arrival struct {
	times     *Times
	at        time.Duration // by Now
	standsFor uint64
	submitted atomic.Bool
}

type arrivalKey struct{}

// Arrives returns a context for a call whose message was received now. The call's first Submitted
// adds the time until then to the stage Receive of times, as a sample that represents n calls. A
// call that submits nothing, because it is refused or another node executes it, is not measured.
func Arrives(ctx context.Context, times *Times, n uint64) context.Context {
	return context.WithValue(ctx, arrivalKey{}, &arrival{times: times, at: Now(), standsFor: n})
}

// Submitted records that a command of the call with this context waits for its shard. Only the
// first call for a context made by Arrives has an effect. It is safe for concurrent use.
func Submitted(ctx context.Context) {
	a, timed := ctx.Value(arrivalKey{}).(*arrival)
	if timed && a.submitted.CompareAndSwap(false, true) {
		a.times.ObserveSample(Timed{Stage: Receive, Took: Now() - a.at}, a.standsFor)
	}
}

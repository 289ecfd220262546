package route

import (
	"context"
	"sync/atomic"
)

type forwardsKey struct{}

// WatchForwards returns a context for a call, and a function that reports whether at least a part
// of the call was sent to another node. The function is safe for concurrent use.
func WatchForwards(ctx context.Context) (_ context.Context, forwarded func() bool) {
	sent := new(atomic.Bool)
	return context.WithValue(ctx, forwardsKey{}, sent), sent.Load
}

func noteForward(ctx context.Context) {
	if sent, ok := ctx.Value(forwardsKey{}).(*atomic.Bool); ok {
		sent.Store(true)
	}
}

package shard

import (
	"context"

	"github.com/pronybench/prony/engine/internal/stages"
)

// Reply holds the arguments of a reply function.
type Reply[T any] struct {
	Value T
	Err   error
}

// AwaitReply calls ask with a reply function that does not block, waits for the reply and returns
// its arguments. It returns the error of ask, or the error of ctx if ctx ends before the reply.
// When ask succeeds, it ends the stage Receive of the call that ctx belongs to.
func AwaitReply[T any](ctx context.Context, ask func(reply func(T, error)) error) (T, error) {
	done := make(chan Reply[T], 1)
	var none T
	if err := ask(func(v T, err error) { done <- Reply[T]{v, err} }); err != nil {
		return none, err
	}
	stages.Submitted(ctx)
	select {
	case r := <-done:
		return r.Value, r.Err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

package call

import (
	"context"
)

// Answer is what a shard's reply carries to a waiting call.
type Answer[T any] struct {
	Value T
	Err   error
}

// Await returns what ask's reply was called with. The reply never blocks: its channel has room.
func Await[T any](ctx context.Context, ask func(reply func(T, error)) error) (T, error) {
	done := make(chan Answer[T], 1)
	var none T
	if err := ask(func(v T, err error) { done <- Answer[T]{v, err} }); err != nil {
		return none, err
	}
	select {
	case a := <-done:
		return a.Value, a.Err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

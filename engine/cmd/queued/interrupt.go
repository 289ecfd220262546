package main

import "context"

// interruptible calls a function that ctx cannot end, such as a read from a terminal. If ctx ends
// first, it returns the error of ctx and leaves the goroutine running; the process is about to end.
func interruptible[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := call()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

package main

import "context"

// interruptible calls a function that ctx cannot interrupt, such as a read from a terminal. If ctx
// ends before the function returns, interruptible returns the error of ctx. The function's
// goroutine then continues until the process ends, which happens soon.
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

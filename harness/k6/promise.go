package k6

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
)

// later runs a call outside of the event loop and returns a promise of its result. made runs on the
// event loop and returns the value for the script; nil means undefined. The call's context ends
// with the iteration, and after the timeout if that is above 0.
func (i *instance) later(call string, timeout time.Duration, do func(context.Context) (made func() any, err error)) *sobek.Promise {
	promise, resolve, reject := i.vu.Runtime().NewPromise()
	settle := i.vu.RegisterCallback()
	ctx := i.vu.Context()
	go func() {
		made, err := i.call(ctx, timeout, do)
		settle(func() error {
			if err != nil {
				return reject(i.errorOf(failed(call, err)))
			}
			if made == nil {
				return resolve(sobek.Undefined())
			}
			return resolve(made())
		})
	}()
	return promise
}

// call runs a call with a timeout. It may run on any goroutine.
func (i *instance) call(ctx context.Context, timeout time.Duration, do func(context.Context) (func() any, error)) (func() any, error) {
	if timeout <= 0 {
		return do(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	made, err := do(bounded)
	if err != nil && ctx.Err() == nil && errors.Is(bounded.Err(), context.DeadlineExceeded) && codeOf(err) != codeUnknown {
		return nil, fmt.Errorf("no answer within %v: %w", timeout, context.DeadlineExceeded)
	}
	return made, err
}

// refused returns a rejected promise.
func (i *instance) refused(err error) *sobek.Promise {
	promise, _, reject := i.vu.Runtime().NewPromise()
	if rejectErr := reject(i.errorOf(err)); rejectErr != nil {
		i.throw(err) // the loop is ending
	}
	return promise
}

package k6

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
)

// later runs a call outside of the event loop and returns a promise of its result. The call's
// context ends with the iteration, and after the timeout if that is above 0.
func (i *instance) later(call string, timeout time.Duration, do work) *sobek.Promise {
	promise, resolve, reject := i.vu.Runtime().NewPromise()
	settle := i.vu.RegisterCallback()
	ctx := i.vu.Context()
	go func() {
		made, err := do.within(ctx, timeout)
		settle(func() error {
			switch {
			case err != nil:
				return reject(i.errorOf(failed(call, err)))
			case made == nil:
				return resolve(sobek.Undefined())
			}
			return resolve(made())
		})
	}()
	return promise
}

// within makes a call with a timeout. It may run on any goroutine.
func (do work) within(ctx context.Context, timeout time.Duration) (func() any, error) {
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

package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// failure is the reason why a round ends early. Only the first one is stored.
type failure struct {
	cancel context.CancelFunc // stops everything
	failed chan struct{}      // closed at the first failure

	mu     sync.Mutex
	first  error
	others int
}

func (f *failure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != nil {
		f.others++
		return
	}
	f.first = err
	close(f.failed)
	f.cancel()
}

// call ends the round with the error of a call made under ctx, and reports whether the driver
// caused the error. A call that fails after ctx is done was probably cancelled, so its error does
// not end the round. A broken connection fails many calls at once. Therefore later errors of a
// failed round are counted too, except the error of ctx.
func (f *failure) call(ctx context.Context, err error) bool {
	if ctx.Err() == nil {
		f.set(err)
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == nil || errors.Is(err, ctx.Err()) {
		return false
	}
	f.others++
	return true
}

// err returns the first failure, and mentions the number of later failures.
func (f *failure) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != nil && f.others > 0 {
		return fmt.Errorf("%w (and %d more failed)", f.first, f.others)
	}
	return f.first
}

// failureOfOne is the first error among rounds that run together. That error cancels the other
// rounds, so their errors are only consequences.
type failureOfOne struct {
	mu  sync.Mutex
	err error
}

func (f *failureOfOne) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

const (
	// againMin and againMax bound the pause of a producer or slot after a failed call. The pause
	// doubles with each failure in a row.
	againMin = 5 * time.Millisecond
	againMax = 250 * time.Millisecond
)

// again pauses a producer or slot before it retries a failed call. Only rounds with Config.Persist
// retry.
type again struct {
	pause  time.Duration
	failed Refusals // counts calls, not tasks
}

// after counts a failed call and waits for the pause. It returns false if ctx, under which the call
// was made, is done. If ctx was done before the pause, the call was probably cancelled and is not
// counted.
func (a *again) after(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	a.failed.note(1, err)
	return a.wait(ctx)
}

// wait waits for the pause, which doubles with each call. It returns false if ctx is done.
func (a *again) wait(ctx context.Context) bool {
	a.pause = min(max(2*a.pause, againMin), againMax)
	timer := time.NewTimer(a.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *again) answered() { a.pause = 0 }

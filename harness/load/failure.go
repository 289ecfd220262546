package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// failure is the reason why a round ends early, if it does. The first one wins.
type failure struct {
	cancel context.CancelFunc // stops everything
	failed chan struct{}      // closed at the first failure

	mu     sync.Mutex
	first  error
	others int
}

// set ends the round with an error.
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

// call ends the round with the error of a call made under ctx, and reports whether the error is the
// driver's own. A call that fails once ctx is done was most likely cancelled: its error ends nothing.
// It is still counted where the round has failed already and it does not say that it was cancelled,
// because a connection that breaks fails many calls at once.
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

// err returns the first failure, with the number of the others.
func (f *failure) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first != nil && f.others > 0 {
		return fmt.Errorf("%w (and %d more failed)", f.first, f.others)
	}
	return f.first
}

// failureOfOne is the first error of rounds that run at once: the others fail since that one did.
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
	// againMin and againMax bound the pause of a producer or slot after a call that failed: it doubles with each one.
	againMin = 5 * time.Millisecond
	againMax = 250 * time.Millisecond
)

// again is the patience of a producer or slot of a round that goes on through failures.
type again struct {
	pause  time.Duration
	failed Refusals // calls
}

// after notes a call that failed and waits a while. It returns false when ctx is done, under which the call was made:
// then it was most likely cancelled, and counts for nothing.
func (a *again) after(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	a.failed.note(1, err)
	return a.wait(ctx)
}

// wait waits a while, longer each time. It returns false when ctx is done.
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

// answered notes a call that was answered.
func (a *again) answered() { a.pause = 0 }

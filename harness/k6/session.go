package k6

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/client"
)

// closable is a session of the client's.
type closable interface{ Close(context.Context) error }

// session is a stream of one VU, opened at its first call, and again by the call after one that
// found it broken. Its methods may run on any goroutine.
type session[S closable] struct {
	mu     sync.Mutex
	opened bool
	stream S
	closed bool
	pause  time.Duration // before the next failure is reported
}

// A script that tries again at once must not spin: the first failures are reported after failMin,
// later ones after up to failMax.
const (
	failMin = 20 * time.Millisecond
	failMax = time.Second
)

// use calls do with the stream, which dial opens if no stream is open. A stream that broke is let
// go.
func (s *session[S]) use(ctx context.Context, dial func() (S, error), do func(S) error) error {
	stream, err := s.get(dial)
	if err != nil {
		return &notSentError{s.patience(ctx, err)}
	}
	err = do(stream)
	if broken(err) && ctx.Err() == nil {
		s.drop(ctx)
		return s.patience(ctx, err)
	}
	if err == nil {
		s.mu.Lock()
		s.pause = 0
		s.mu.Unlock()
	}
	return err
}

func (s *session[S]) get(dial func() (S, error)) (stream S, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return stream, errSessionClosed
	case s.opened:
		return s.stream, nil
	}
	if stream, err = dial(); err != nil {
		return stream, err
	}
	s.stream, s.opened = stream, true
	return stream, nil
}

// broken reports whether a session of no use any more gave an error.
func broken(err error) bool {
	var refused *client.Error
	return err != nil && !errors.As(err, &refused) && !errors.Is(err, client.ErrInvalidArgument)
}

// drop lets the stream go. What it still says is what it broke of.
func (s *session[S]) drop(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		_ = s.stream.Close(ctx)
		s.opened = false
	}
}

// patience waits before a failure is reported, longer each time, unless the session was closed by
// the script.
func (s *session[S]) patience(ctx context.Context, err error) error {
	if errors.Is(err, errSessionClosed) {
		return err
	}
	s.mu.Lock()
	s.pause = min(max(2*s.pause, failMin), failMax)
	pause := s.pause
	s.mu.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}

// Close ends the session for good. Closing it again does nothing.
func (s *session[S]) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if !s.opened {
		return nil
	}
	s.opened = false
	return s.stream.Close(ctx)
}

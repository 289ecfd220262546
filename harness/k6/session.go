package k6

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/client"
)

// closable is a session of package client.
type closable interface{ Close(context.Context) error }

// session is a stream of one VU. Its first call opens the stream, and a call after a failure
// reopens it. Its methods are safe for concurrent use.
type session[S closable] struct {
	mu     sync.Mutex
	opened bool
	stream S
	closed bool
	pause  time.Duration // delay of the last reported failure; 0 after a success
}

// A script that retries immediately must not spin: failures are reported after a delay, which
// doubles from failMin to failMax.
const (
	failMin = 20 * time.Millisecond
	failMax = time.Second
)

// use calls do with the stream. It opens the stream with dial if none is open, and drops a broken
// stream.
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

// broken reports whether err means that the session can no longer be used.
func broken(err error) bool {
	var refused *client.Error
	return err != nil && !errors.As(err, &refused) && !errors.Is(err, client.ErrInvalidArgument)
}

// drop closes the stream. It ignores the error, which repeats the failure of the stream.
func (s *session[S]) drop(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		_ = s.stream.Close(ctx)
		s.opened = false
	}
}

// patience returns err after a delay that grows with each failure. It does not delay the error of a
// session that the script has closed.
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

// Close ends the session. Later calls fail, and closing it again does nothing.
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

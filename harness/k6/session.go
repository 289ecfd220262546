package k6

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/client"
)

// errSessionClosed is the error of a call on a session that the script has closed.
var errSessionClosed = errors.New("the session is closed; open another one")

// closable is a session of package client.
type closable interface{ Close(context.Context) error }

// session is a stream of one VU. Its first call opens the stream, which reconnects by itself. Its
// methods are safe for concurrent use.
type session[S closable] struct {
	dial           func(*client.Client) (S, error)
	mu             sync.Mutex
	stream         S
	opened, closed bool
	pause          time.Duration // delay of the last reported failure; 0 after a success
}

// A script that retries immediately must not spin: failures are reported after a delay, which
// doubles from failMin to failMax.
const (
	failMin = 20 * time.Millisecond
	failMax = time.Second
)

// use calls do with the stream. If none is open, it opens one on the connection.
func (s *session[S]) use(ctx context.Context, conn *client.Client, do func(S) error) error {
	stream, err := s.get(conn)
	if err != nil {
		err = &notSentError{err}
	} else {
		err = do(stream)
	}
	if broken(err) && !errors.Is(err, errSessionClosed) {
		s.patience(ctx)
	} else if err == nil {
		s.mu.Lock()
		s.pause = 0
		s.mu.Unlock()
	}
	return err
}

func (s *session[S]) get(conn *client.Client) (stream S, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return stream, errSessionClosed
	case s.opened:
		return s.stream, nil
	}
	if stream, err = s.dial(conn); err == nil {
		s.stream, s.opened = stream, true
	}
	return stream, err
}

// broken reports whether err is a failure of the session, not a refusal of its server.
func broken(err error) bool {
	var refused *client.Error
	return err != nil && !errors.As(err, &refused) && !errors.Is(err, client.ErrInvalidArgument)
}

// patience waits for a time that grows with each failure.
func (s *session[S]) patience(ctx context.Context) {
	s.mu.Lock()
	s.pause = min(max(2*s.pause, failMin), failMax)
	timer := time.NewTimer(s.pause)
	s.mu.Unlock()
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
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

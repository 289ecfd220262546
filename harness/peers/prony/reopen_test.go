package prony

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
)

// fleeting is a connection whose sessions end at their second call.
type fleeting struct{ opened int }

func (f *fleeting) Producer(context.Context, string) (driver.Producer, error) {
	f.opened++
	return &endsSoon{}, nil
}

func (f *fleeting) Worker(context.Context, string, []string, int) (driver.Worker, error) {
	f.opened++
	return &endsSoon{}, nil
}

func (*fleeting) Close() error { return errEnded }

// one is a distinct connection.
type one struct{ *fleeting }

var errEnded = errors.New("the session has ended")

type endsSoon struct{ calls int }

func (e *endsSoon) call() error {
	if e.calls++; e.calls > 1 {
		return errEnded
	}
	return nil
}

func (e *endsSoon) Enqueue(context.Context, []driver.Task, []error) error { return e.call() }

func (e *endsSoon) Claim(context.Context, []driver.Delivery) (int, error) { return 0, e.call() }

func (e *endsSoon) Complete(_ context.Context, _ []driver.Delivery, outcomes []error) error {
	if e.call() != nil {
		outcomes[0] = driver.ErrUnknown
	}
	return nil
}

func TestSessionsThatEndedAreOpenedAgain(t *testing.T) {
	f := &fleeting{}
	var dialled int
	dial := func() (driver.Conn, error) {
		dialled++
		return &one{f}, nil
	}
	c, err := newReopening(dial)
	require.NoError(t, err)
	p, err := c.Producer(t.Context(), "t")
	require.NoError(t, err)
	w, err := c.Worker(t.Context(), "t", []string{"q"}, 1)
	require.NoError(t, err)
	outcomes := make([]error, 1)
	for range 3 {
		require.NoError(t, p.Enqueue(t.Context(), nil, outcomes))
		require.ErrorIs(t, p.Enqueue(t.Context(), nil, outcomes), errEnded)
		require.NoError(t, w.Complete(t.Context(), nil, outcomes))
		require.NoError(t, w.Complete(t.Context(), nil, outcomes))
		assert.ErrorIs(t, outcomes[0], driver.ErrUnknown)
		outcomes[0] = nil
	}
	assert.Equal(t, 2*3, f.opened, "each call after an end opens a session")
	assert.Greater(t, dialled, 1)

	// A claim that was cancelled by its context shows nothing about the session.
	_, err = w.Claim(t.Context(), nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	opened := f.opened
	_, err = w.Claim(ctx, nil)
	require.ErrorIs(t, err, errEnded)
	_, err = w.Claim(t.Context(), nil)
	require.ErrorIs(t, err, errEnded)
	assert.Equal(t, opened, f.opened)

	require.NoError(t, c.Close(), "connections that have already ended are not an error")
	require.NoError(t, w.Complete(t.Context(), nil, outcomes))
	assert.ErrorContains(t, outcomes[0], "closed")
	c, err = newReopening(dial)
	require.NoError(t, err)
	assert.ErrorIs(t, c.Close(), errEnded)
}

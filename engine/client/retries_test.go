package client

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queuepb"
)

// If an earlier try may have taken effect, the item's outcome is unknown, even if the last try was
// refused.
func TestGivingUpInDoubtIsNoRefusal(t *testing.T) {
	r := newRetries(2)
	r.unsure[0] = true
	r.cause = &Error{Code: queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, Message: "n2 leads"}
	r.giveUp(context.DeadlineExceeded)
	var refused *Error
	require.ErrorIs(t, r.errs[0], ErrUnknownOutcome)
	assert.ErrorIs(t, r.errs[0], context.DeadlineExceeded)
	assert.ErrorContains(t, r.errs[0], "n2 leads")
	assert.False(t, errors.As(r.errs[0], &refused), "%v", r.errs[0])
	assert.NotErrorIs(t, r.errs[0], ErrUnavailable)
	assert.ErrorIs(t, r.errs[1], ErrUnavailable)
	assert.NotErrorIs(t, r.errs[1], ErrUnknownOutcome)
}

// A task without an error and without an id is not acknowledged.
func TestAnEnqueueWithoutAnIDIsNotAcknowledged(t *testing.T) {
	p := &Producer{links: &follower[*produceLink]{}}
	e := &enqueuing{retries: newRetries(2), producer: p, tasks: make([]Task, 2), ids: make([]string, 2)}
	e.tried(e.trying(), &call[Task]{count: 2, ids: []string{"a", ""}}, nil)
	assert.NoError(t, e.errs[0])
	assert.Equal(t, "a", e.ids[0])
	assert.ErrorIs(t, e.errs[1], ErrUnknownOutcome)
}

// An unsent task fails with ErrUnavailable, even if the last try concerned another task whose
// outcome is unknown. No single error is correct for both.
func TestOutcomesOfABatchAreNotMixed(t *testing.T) {
	r := newRetries(2)
	for _, place := range r.trying() {
		if place == 0 {
			r.note(place, undone(errors.New("the server stops")), true)
		} else {
			r.note(place, unknownOutcome(errors.New("the connection broke")), true)
		}
	}
	r.giveUp(context.DeadlineExceeded)
	errs, err := r.result()
	require.NoError(t, err)
	require.Len(t, errs, 2)
	require.ErrorIs(t, errs[0], ErrUnavailable)
	require.NotErrorIs(t, errs[0], ErrUnknownOutcome)
	require.ErrorIs(t, errs[1], ErrUnknownOutcome)
	require.NotErrorIs(t, errs[1], ErrUnavailable)
}

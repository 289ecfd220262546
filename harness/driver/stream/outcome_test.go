package stream

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/harness/driver"
)

// A completion of unknown outcome counts neither as a cycle nor as a refusal, alone and in a batch.
// A late completion counts as a refusal.
func TestUnknownOutcomesAreNoRefusals(t *testing.T) {
	stale := &client.Error{Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, Message: "stale token"}
	late := errors.Join(client.ErrLeaseExpired, stale)
	unknown := fmt.Errorf("%w: %w", client.ErrUnknownOutcome, stale)
	outcomes := make([]error, 3)

	require.ErrorIs(t, single(unknown, outcomes[:1]), client.ErrUnknownOutcome)
	require.NoError(t, outcomes[0])
	require.NoError(t, single(late, outcomes[:1]))
	require.ErrorIs(t, outcomes[0], client.ErrLeaseExpired)
	require.NotErrorIs(t, outcomes[0], driver.ErrUnknown)

	require.NoError(t, batched([]error{nil, unknown, late}, nil, outcomes))
	assert.NoError(t, outcomes[0])
	assert.ErrorIs(t, outcomes[1], driver.ErrUnknown)
	assert.NotErrorIs(t, outcomes[2], driver.ErrUnknown)
	assert.ErrorIs(t, outcomes[2], client.ErrStaleToken)
}

// Only refusals because of an expired lease or a missing task are marked as such.
func TestLeasesThatAreOver(t *testing.T) {
	refusal := func(code queuepb.ErrorCode) error { return &client.Error{Code: code, Message: "no"} }
	outcomes := []error{
		nil, refusal(queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN), refusal(queuepb.ErrorCode_ERROR_CODE_NOT_FOUND),
		refusal(queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE), fmt.Errorf("%w: %w", driver.ErrUnknown, refusal(queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN)),
	}
	failed := errors.New("broken")
	assert.Equal(t, failed, leasesOver(failed, outcomes))
	for i, over := range []bool{false, true, true, false, false} {
		assert.Equal(t, over, errors.Is(outcomes[i], driver.ErrLeaseOver), i)
	}
	assert.NoError(t, outcomes[0])
}

package observe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestCountsSince(t *testing.T) {
	before := Counts{Enqueued: 10, Completed: 8, Dead: 2, Stored: 2}
	now := Counts{Enqueued: 15, Completed: 11, Ready: 1, Leased: 1, Dead: 2, Stored: 4}
	added, err := now.Since(before)
	require.NoError(t, err)
	assert.Equal(t, Counts{Enqueued: 5, Completed: 3, Ready: 1, Leased: 1, Stored: 2}, added)
	assert.EqualValues(t, 2, now.Deliverable())
	_, err = before.Since(now)
	golden.Cases(t, "testdata/counts.golden").Error(t, "fewer", err)
}

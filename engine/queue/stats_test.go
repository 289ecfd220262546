package queue

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStatsAreOfOneQueue(t *testing.T) {
	f := newFixture(t, Config{})
	f.fill("a", 3)
	f.fill("b", 1)
	q, ok := f.Named("t", "a")
	require.True(t, ok)
	require.True(t, f.Refresh(q, f.now))
	st := f.Stats(q, f.now)
	assert.Equal(t, uint64(3), st.Ready)
	assert.Equal(t, f.now, st.ReadySinceMs)
	assert.Len(t, f.QueueIDs(), 2)
}

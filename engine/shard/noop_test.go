package shard

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNoopIsAnsweredAndStoresNothing(t *testing.T) {
	f := start(t, vfs.NewMem(), Options{})
	before := f.store.Counters()
	for range 3 {
		answered := make(chan error, 1)
		require.NoError(t, f.Noop(func(err error) { answered <- err }))
		require.NoError(t, receive(t, answered))
	}
	assert.Equal(t, before, f.store.Counters())
	f.stop()
	require.ErrorIs(t, f.Noop(func(error) { t.Error("a refused no-op is answered") }), ErrClosed)
}

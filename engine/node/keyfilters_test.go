package node

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/storage"
)

func TestConfiguredKeyFiltersOverrideTheirShare(t *testing.T) {
	small := memory.SharesOf(memory.Least, 1, false)
	assert.Less(t, small.KeyFilterBytes, int64(storage.DefaultKeyFilterBytes))
	assert.Equal(t, small.KeyFilterBytes, keyFilterShare(0, small))
	assert.Equal(t, small.KeyFilterBytes, keyFilterShare(storage.DefaultKeyFilterBytes, small))
	assert.EqualValues(t, 1, keyFilterShare(1, small))
	assert.EqualValues(t, 100<<20, keyFilterShare(100<<20, small))
}

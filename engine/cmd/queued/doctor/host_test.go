package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The functions read the real host without errors and return plausible values.
func TestThisHost(t *testing.T) {
	h := This()
	free, total, err := h.Space(t.TempDir())
	require.NoError(t, err)
	assert.LessOrEqual(t, free, total)
	_, err = h.FileSystem(t.TempDir())
	require.NoError(t, err)
	files, err := h.FileLimit()
	require.NoError(t, err)
	assert.Positive(t, files)
	_, err = h.MemoryLimit()
	require.NoError(t, err)
	_, err = h.CPUQuota()
	require.NoError(t, err)
	assert.Positive(t, h.Procs())
	assert.WithinDuration(t, time.Now(), h.Now(), time.Minute)
	_, _, err = h.Space("missing")
	assert.Error(t, err)
}

// The smallest limit of the process's control group and its ancestors applies.
func TestControlGroups(t *testing.T) {
	root := t.TempDir()
	self := filepath.Join(root, "self")
	put := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(text), 0o600))
	}
	put("self", "12:cpu:/old\n0::/a/b\n")
	put("a/b/memory.max", "max\n")
	put("a/memory.max", "1048576\n")
	put("memory.max", "4194304\n")
	put("a/b/cpu.max", "150000 100000\n")
	put("a/cpu.max", "max 100000\n")
	memory, err := memoryLimit(self, root)
	require.NoError(t, err)
	assert.EqualValues(t, 1<<20, memory)
	quota, err := cpuQuota(self, root)
	require.NoError(t, err)
	assert.InDelta(t, 1.5, quota, 0)

	for _, text := range []string{"", "lots", "100000", "1 0", "x 100000"} {
		put("a/b/cpu.max", text)
		_, err = cpuQuota(self, root)
		assert.Error(t, err, text)
	}
	put("a/b/memory.max", "lots")
	_, err = memoryLimit(self, root)
	assert.ErrorContains(t, err, "read memory.max")
	memory, err = memoryLimit(filepath.Join(root, "missing"), root)
	require.NoError(t, err)
	assert.Zero(t, memory, "no control groups, no limit")
	put("self", "12:cpu:/old\n")
	memory, err = memoryLimit(self, root)
	require.NoError(t, err)
	assert.Zero(t, memory)
}

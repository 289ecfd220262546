package observe

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCPUsOfThisProcess(t *testing.T) {
	cpus, err := CPUs()
	require.NoError(t, err)
	assert.Len(t, cpus, runtime.NumCPU())
	for i, cpu := range cpus {
		assert.NotEmpty(t, cpu.Core)
		if i > 0 {
			assert.Greater(t, cpu.ID, cpus[i-1].ID)
		}
	}
}

func TestCoresOfCPUs(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"cpu0/topology/core_cpus_list": "0,2\n", "cpu2/topology/core_cpus_list": "0,2\n", "cpu2/topology/thread_siblings_list": "2\n",
		"cpu3/topology/thread_siblings_list": "1,3\n",
	} {
		path = filepath.Join(root, "sys/devices/system/cpu", path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	assert.Equal(t, []CPU{{0, "0,2"}, {2, "0,2"}, {3, "1,3"}, {5, "5"}}, coresOf(root, []int{0, 2, 3, 5}))
}

package result_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// dataIn creates servers' data in a run folder and in the folder of an arm.
func dataIn(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	for _, name := range []string{"data", "base/data"} {
		dir := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "store"), []byte("tasks"), 0o600))
		all = append(all, dir)
	}
	return all
}

// A killed process leaves its mark without a lock. The next measuring process removes the servers'
// data.
func TestBeginRemovesTheDataOfKilledProcesses(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	var told strings.Builder
	alive, release, err := result.Begin(out, "1-alive", &told)
	require.NoError(t, err)
	kept := dataIn(t, alive.Path())

	killed := filepath.Join(out, "2-killed")
	gone := dataIn(t, killed)
	require.NoError(t, os.WriteFile(filepath.Join(killed, ".measuring"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(killed, result.RoundsFile), nil, 0o600))
	// Data without a mark must not be removed.
	kept = append(kept, dataIn(t, filepath.Join(out, "3-soak"))...)
	assert.Empty(t, told.String())

	_, again, err := result.Begin(out, "4-next", &told)
	require.NoError(t, err)
	assert.Equal(t, "removed the servers' data in "+killed+": the process that measured there was killed\n", told.String())
	for _, dir := range gone {
		assert.NoDirExists(t, dir)
	}
	assert.FileExists(t, filepath.Join(killed, result.RoundsFile), "measurements are kept")
	for _, dir := range kept {
		assert.FileExists(t, filepath.Join(dir, "store"))
	}
	require.NoError(t, release())
	require.NoError(t, again())
	assert.NoFileExists(t, alive.File(".measuring"))

	_, last, err := result.Begin(out, "5-last", &told)
	require.NoError(t, err)
	require.NoError(t, last())
	assert.Equal(t, 1, strings.Count(told.String(), "\n"), "once")
	for _, dir := range kept {
		assert.FileExists(t, filepath.Join(dir, "store"), "Begin must not change folders without a mark")
	}
}

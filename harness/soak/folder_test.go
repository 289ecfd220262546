package soak

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

func TestFoldersThatAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, t.TempDir(), 1)
	_, err := Run(t.Context(), newBench(t, b.Folder, 1).Options)
	require.NoError(t, err)

	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.MkdirAll(other, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(other, "thesis.txt"), nil, 0o600))
	_, err = Run(t.Context(), newBench(t, other, 1).Options)
	require.ErrorContains(t, err, "the folder "+other+" holds thesis.txt and no soak: name an empty folder, or one that does not exist")

	begun := t.TempDir()
	f, err := openFolder(begun, b.Scenario, time.Now())
	require.NoError(t, err)
	_, err = Run(t.Context(), newBench(t, begun, 1).Options)
	require.ErrorContains(t, err, "the folder "+begun+" is in use by another prony (process ")
	require.NoError(t, f.close())

	changed := newBench(t, begun, 1)
	changed.Scenario.Workloads[0].Workers = 2
	_, err = Run(t.Context(), changed.Options)
	require.ErrorContains(t, err, `holds a soak of "soaked" with another configuration: workload.main.workers is "1" and "2": name another folder, or undo the change`)
	renamed := newBench(t, begun, 1)
	renamed.Scenario.Name = "other"
	_, err = Run(t.Context(), renamed.Options)
	require.ErrorContains(t, err, `holds a soak of "soaked", not of "other"`)

	longer := newBench(t, begun, 1)
	longer.Scenario.Soak.For, longer.Scenario.Soak.DriftPercentMax = time.Hour, 7
	_, err = Run(t.Context(), longer.Options)
	require.NoError(t, err, "its duration and its limits may change")

	require.NoError(t, os.WriteFile(filepath.Join(begun, "soak.json"), []byte("{"), 0o600))
	_, err = Run(t.Context(), newBench(t, begun, 1).Options)
	require.ErrorContains(t, err, "soak.json: corrupt")
}

// Old results of windows are deleted by age and by size, except the latest one, and the count of
// deleted ones survives restarts.
func TestPrune(t *testing.T) {
	t.Parallel()
	b := newBench(t, t.TempDir(), 1)
	f, err := openFolder(b.Folder, b.Scenario, time.Now())
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 1))
	now := time.Now()
	size := int64(0)
	for number := 1; number <= 6; number++ {
		w := madeWindow(number, random)
		require.NoError(t, f.store(&w))
		info, err := os.Stat(f.windowFile(number))
		require.NoError(t, err)
		size = max(size, info.Size())
		require.NoError(t, os.Chtimes(f.windowFile(number), now, now.Add(time.Duration(number-7)*time.Hour)))
	}
	left := func() (numbers []int) {
		for number := range 7 {
			if _, err := os.Stat(f.windowFile(number)); err == nil {
				numbers = append(numbers, number)
			}
		}
		return numbers
	}
	require.NoError(t, f.prune(scenario.SoakKeep{Age: 1000 * time.Hour, Bytes: 1 << 30}, now))
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6}, left())
	require.NoError(t, f.prune(scenario.SoakKeep{Age: 4*time.Hour + time.Minute, Bytes: 1 << 30}, now))
	assert.Equal(t, []int{3, 4, 5, 6}, left())
	require.NoError(t, f.prune(scenario.SoakKeep{Age: 1000 * time.Hour, Bytes: 2*size + size/2}, now))
	assert.Equal(t, []int{5, 6}, left())
	require.NoError(t, f.prune(scenario.SoakKeep{Age: time.Nanosecond, Bytes: 1}, now))
	assert.Equal(t, []int{6}, left())
	require.NoError(t, f.close())

	f, err = openFolder(b.Folder, b.Scenario, time.Now())
	require.NoError(t, err)
	defer func() { require.NoError(t, f.close()) }()
	soak, err := f.account(b.Scenario, b.For)
	require.NoError(t, err)
	assert.Equal(t, 5, soak.Totals.DeletedWindows)
	assert.Positive(t, soak.Totals.DeletedBytes)
	assert.Equal(t, 6, soak.Totals.Windows, "their rows remain")
	assert.Contains(t, soak.Warnings[0], "the results of 5 single windows were deleted")
}

// A killed soak may leave its lock to a child until the child's program begins. The next soak waits
// for it.
func TestALockThatIsGivenUpAtOnceIsWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := lockFolder(dir)
		require.NoError(t, err)
		released := make(chan error, 1)
		time.AfterFunc(lockWait-lockPause, func() { released <- first.Close() })
		second, err := lockFolder(dir)
		require.NoError(t, err)
		require.NoError(t, <-released)
		require.NoError(t, second.Close())
	})
}

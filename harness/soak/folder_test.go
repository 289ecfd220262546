package soak

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/scenario"
)

func TestFoldersThatAreRefused(t *testing.T) {
	texts := golden.Cases(t, "testdata/folders.golden")
	texts.Replace(filepath.Dir(t.TempDir()), "DIR")
	texts.Replace(strconv.Itoa(os.Getpid()), "PID")
	t.Parallel()
	b := newBench(t, t.TempDir(), 1)
	_, err := Run(t.Context(), newBench(t, b.Folder, 1).Options)
	require.NoError(t, err)

	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.MkdirAll(other, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(other, "thesis.txt"), nil, 0o600))
	_, err = Run(t.Context(), newBench(t, other, 1).Options)
	texts.Error(t, "another content", err)

	begun := t.TempDir()
	f, err := openFolder(begun, b.Scenario, time.Now())
	require.NoError(t, err)
	_, err = Run(t.Context(), newBench(t, begun, 1).Options)
	texts.Error(t, "in use", err)
	require.NoError(t, f.close())

	changed := newBench(t, begun, 1)
	changed.Scenario.Workloads[0].Workers = 2
	_, err = Run(t.Context(), changed.Options)
	texts.Error(t, "another configuration", err)
	renamed := newBench(t, begun, 1)
	renamed.Scenario.Name = "other"
	_, err = Run(t.Context(), renamed.Options)
	texts.Error(t, "another scenario", err)

	longer := newBench(t, begun, 1)
	longer.Scenario.Soak.For, longer.Scenario.Soak.DriftPercentMax = time.Hour, 7
	_, err = Run(t.Context(), longer.Options)
	require.NoError(t, err, "its duration and its limits may change")

	require.NoError(t, os.WriteFile(filepath.Join(begun, "soak.json"), []byte("{"), 0o600))
	_, err = Run(t.Context(), newBench(t, begun, 1).Options)
	texts.Error(t, "corrupt", err)
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
	golden.Cases(t, "testdata/pruned.golden").Equal(t, "warning", soak.Warnings[0])
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

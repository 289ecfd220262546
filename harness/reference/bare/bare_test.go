package bare

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requireNothingLeft fails if a child process or a file in dir remains.
func requireNothingLeft(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Empty(t, children(t))
}

// children returns the child processes that are not reaped.
func children(t *testing.T) (all []int) {
	t.Helper()
	procs, err := procfs.AllProcs()
	require.NoError(t, err)
	for _, p := range procs {
		if stat, err := p.Stat(); err == nil && stat.PPID == os.Getpid() {
			all = append(all, p.PID)
		}
	}
	return all
}

func TestMeasure(t *testing.T) {
	for _, batch := range []int{1, BatchTasks} {
		for _, sync := range []bool{false, true} {
			t.Run(fmt.Sprintf("batch %d, sync %v", batch, sync), func(t *testing.T) {
				c := Config{Dir: t.TempDir(), Batch: batch, Sync: sync, For: 20 * time.Millisecond}
				m, err := Measure(t.Context(), c)
				require.NoError(t, err)
				assert.Positive(t, m.Cycles)
				assert.GreaterOrEqual(t, m.Wall, c.For)
				assert.Positive(t, m.ServerCPU)
				assert.Positive(t, m.ClientCPU)
				requireNothingLeft(t, c.Dir)
			})
		}
	}
}

// A measurement that is interrupted under load ends its processes and removes its files.
func TestMeasureEndsWithItsContext(t *testing.T) {
	c := Config{Dir: t.TempDir(), Batch: 1, For: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	measured := make(chan error, 1)
	go func() {
		_, err := Measure(ctx, c)
		measured <- err
	}()
	require.Eventually(t, func() bool {
		logs, err := filepath.Glob(filepath.Join(c.Dir, "*", storeFolder, "*.log"))
		return err == nil && len(logs) > 0 && fileBytes(logs[0]) > 0 // tasks are written
	}, time.Minute, time.Millisecond)
	assert.Len(t, children(t), 2)
	cancel()
	require.ErrorIs(t, <-measured, context.Canceled)
	requireNothingLeft(t, c.Dir)
}

func fileBytes(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func TestMeasureRefusesAWrongConfiguration(t *testing.T) {
	for says, change := range map[string]func(*Config){
		"a call of 2 tasks: it must have 1 or 64":   func(c *Config) { c.Batch = 2 },
		"a warm-up of -1s: it must not be negative": func(c *Config) { c.Warmup = -time.Second },
		"a measurement of 0s: it must be above 0":   func(c *Config) { c.For = 0 },
		"create a folder for a store":               func(c *Config) { c.Dir = filepath.Join(c.Dir, "none") },
	} {
		c := Config{Dir: t.TempDir(), Batch: 1, For: time.Millisecond}
		dir := c.Dir
		change(&c)
		_, err := Measure(t.Context(), c)
		require.ErrorContains(t, err, says)
		requireNothingLeft(t, dir)
	}
}

// Without its environment variable the child's command is unknown.
func TestIsChild(t *testing.T) {
	assert.False(t, IsChild([]string{"prony", command}))
	t.Setenv(roleEnv, asServer)
	assert.True(t, IsChild([]string{"prony", command}))
	assert.False(t, IsChild([]string{"prony", command, "more"}))
	assert.False(t, IsChild([]string{"prony", "run"}))
}

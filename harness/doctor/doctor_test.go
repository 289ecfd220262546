package doctor

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// examine examines this host with short windows and returns the checks by name.
func examine(t *testing.T, root string) (*Report, map[string]Check) {
	t.Helper()
	dir := t.TempDir()
	d, err := Examine(t.Context(), Options{Dir: dir, Window: 100 * time.Millisecond, HostRoot: root})
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, entries, "no files remain in the folder")
	checks := map[string]Check{}
	for _, c := range d.Checks {
		checks[c.Name] = c
		assert.Equal(t, c.Value == nil, c.State == Unknown, c.Name)
		assert.Equal(t, c.Limit != nil, c.State == Fit || c.State == Unfit, c.Name)
	}
	require.Len(t, checks, len(d.Checks), "check names are unique")
	return d, checks
}

func TestExamine(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	d, checks := examine(t, "")
	assert.Equal(t, procs, runtime.GOMAXPROCS(0), "GOMAXPROCS is restored")
	for _, name := range []string{"generator", "generator, wall", "generator, single", "slip", "clock", "CPUs", "fsync", "fsync, p99", "thread hop", "thread hop, p99"} {
		require.Contains(t, checks, name)
		if v := checks[name].Value; v != nil { // a host without a spare CPU may not measure any
			assert.GreaterOrEqual(t, *v, 0.0, name)
		}
	}
	assert.Contains(t, checks, "steal")
	unfit := false
	for _, c := range d.Checks {
		unfit = unfit || c.State == Unfit
	}
	assert.Equal(t, unfit, d.Verdict == result.Invalid)
	assert.Equal(t, !unfit, d.Verdict == result.Pass)
}

// A host whose signals cannot be read has unknown checks, not fit ones.
func TestExamineAHostThatTellsNothing(t *testing.T) {
	_, checks := examine(t, t.TempDir())
	for _, name := range []string{"steal", "foreign CPU", "pressure, CPU", "pressure, I/O", "pressure, memory", "throttling", "frequency", "frequency drop"} {
		assert.Equal(t, Unknown, checks[name].State, name)
	}
}

func TestExamineNeedsAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "none"), ""} {
		_, err := Examine(t.Context(), Options{Dir: dir})
		assert.ErrorContains(t, err, "name one with --dir")
	}
}

func TestExamineEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Examine(ctx, Options{Dir: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled)
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		check Check
		state State
	}{
		{atLeast("", 2, "", 2, ""), Fit},
		{atLeast("", 1.9, "", 2, ""), Unfit},
		{atLeast("", math.NaN(), "", 2, ""), Unfit},
		{atMost("", 2, "", 2, ""), Fit},
		{atMost("", 2.1, "", 2, ""), Unfit},
		{atMost("", math.NaN(), "", 2, ""), Unfit},
	} {
		assert.Equal(t, c.state, c.check.State, "%v of %v", *c.check.Value, *c.check.Limit)
	}
}

package generator

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/scenario"
)

// started starts a generator with the named driver. It ends with the test.
func started(t *testing.T, spec Spec) (p *Process, log string, err error) {
	log = filepath.Join(t.TempDir(), "generator.log")
	self, err := os.Executable()
	require.NoError(t, err)
	cpus, err := observe.CPUs()
	require.NoError(t, err)
	p, err = Start(t.Context(), Command{Binary: self, Env: []string{actEnv + "=as asked"}, CPUs: []int{cpus[len(cpus)-1].ID}, LogPath: log}, spec)
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	}
	return p, log, err
}

func TestProcessMeasuresSlices(t *testing.T) {
	texts := golden.Cases(t, "testdata/slices.golden")
	spec := specOf("null")
	spec.Workload.Procs = 3
	p, log, err := started(t, spec)
	require.NoError(t, err)
	assert.NotEqual(t, os.Getpid(), p.PID())
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "GOMAXPROCS 3 on 1 CPU as asked\n", string(text))

	var cycles uint64
	length := 5 * time.Millisecond
	for slices := 0; slices < 5; {
		s, err := p.Slice(t.Context(), length)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, s.Took, length)
		cycles += s.Cycles
		if s.Cycles > 0 {
			slices++
		} else { // the generator got no CPU time in the slice
			length *= 2
			require.Less(t, length, time.Minute)
		}
	}
	for i := range uint64(3) {
		require.NoError(t, p.OpenSlice(t.Context(), i, 2000, 20*time.Millisecond))
	}
	_, err = p.Slice(t.Context(), 0)
	texts.Error(t, "an empty slice", err)
	r, err := p.Finish(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Open)
	assert.Greater(t, r.Ledger.Completed, cycles)
	assert.LessOrEqual(t, r.Ledger.Completed, cycles+r.Open.Arrivals)
	assert.Zero(t, r.Ledger.Lost+r.Ledger.Duplicated+r.Ledger.Corrupted+r.Ledger.Unknown)
	assert.Equal(t, r.Ledger.Enqueued, r.Ledger.Completed)
	_, err = p.Slice(t.Context(), time.Millisecond)
	texts.Error(t, "an ended process", err)
}

// The profiles are those of the generator's process, not of this process.
func TestProcessIsProfiled(t *testing.T) {
	p, _, err := started(t, specOf("null"))
	require.NoError(t, err)
	captures := []scenario.Capture{{Kind: "cpu"}, {Kind: "mutex", MutexFraction: 1}, {Kind: "allocs"}, {Kind: "goroutine"}}
	s, err := profile.Start(t.Context(), profile.Remote(p.Profile), captures, func() profile.Mark { return profile.Mark{At: time.Now()} })
	require.NoError(t, err)
	require.NoError(t, s.StartCPU(t.Context()))
	_, err = p.Slice(t.Context(), 5*time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context()))
	profiles, err := s.Write(t.TempDir(), "profiles")
	require.NoError(t, err)
	require.Len(t, profiles, len(captures))
	goroutines := profiles[len(profiles)-1]
	var of []string
	for _, e := range goroutines.Top {
		of = append(of, e.Function)
	}
	assert.Contains(t, of, "github.com/pronybench/prony/harness/load.(*Slices).work")
	_, err = p.Profile(t.Context(), profile.Request{Do: "dump"})
	golden.Cases(t, "testdata/profiles.golden").Error(t, "an unknown request", err)
	_, err = p.Finish(t.Context())
	require.NoError(t, err)
}

func TestProcessThatCannotStart(t *testing.T) {
	texts := golden.Cases(t, "testdata/starts.golden")
	_, _, err := started(t, specOf("k6"))
	texts.Error(t, "a driver", err)
	_, log, err := started(t, specOf("dies"))
	assert.ErrorContains(t, err, "generator: open: the process ended early: exit status 3\n  log: "+log)
	assert.ErrorContains(t, err, "out of memory")
	_, err = Start(t.Context(), Command{Binary: filepath.Join(t.TempDir(), "none"), LogPath: filepath.Join(t.TempDir(), "log")}, specOf("null"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	folder := t.TempDir()
	texts.Replace(folder, "FOLDER")
	_, err = Start(t.Context(), Command{Binary: "generator", LogPath: folder}, specOf("null"))
	texts.Error(t, "a log that is a folder", err)
}

func TestProcessThatIsKilledInASlice(t *testing.T) {
	p, _, err := started(t, specOf("stalls"))
	require.NoError(t, err)
	go func() { assert.NoError(t, p.Kill()) }()
	_, err = p.Slice(t.Context(), time.Minute)
	require.ErrorContains(t, err, "generator: slice: ")
	_, again := p.Slice(t.Context(), time.Minute)
	assert.Equal(t, err, again, "no further command is sent")
	_, err = p.Finish(t.Context())
	assert.ErrorIs(t, err, again)
}

func TestCallsEndWithTheirContext(t *testing.T) {
	p, _, err := started(t, specOf("stalls"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Slice(ctx, time.Minute)
	assert.ErrorIs(t, err, context.Canceled)
}

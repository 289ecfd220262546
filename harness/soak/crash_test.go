package soak

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/result"
)

// childFolder makes this test program measure a soak of simulated windows in a folder instead of
// running its tests.
const childFolder = "PRONY_SOAK_TEST_FOLDER"

// crashWindows is the length of that soak in windows, and crashWindow the real duration of each
// window. Each of the crashKills processes may measure windowsPerKill windows: none of them reaches
// the end of the soak.
const (
	crashWindows   = 60
	crashWindow    = 5 * time.Millisecond
	crashKills     = 12
	windowsPerKill = 4
)

// Each check of a property adds tens of rows and syncs each of them, so the short form has fewer
// checks.
func init() {
	if os.Getenv(longtest.Variable) != "" {
		return
	}
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	if folder := os.Getenv(childFolder); folder != "" {
		os.Exit(child(folder))
	}
	goleak.VerifyTestMain(m)
}

func child(folder string) int {
	b := newBench(&testing.B{}, folder, crashWindows)
	b.Deploy = func(_ context.Context, dir string) (Stand, error) {
		stand := newFakeStand(dir)
		stand.takes = crashWindow
		stand.begins = func() error { // each window consumes a byte from the parent
			_, err := os.Stdin.Read(make([]byte, 1))
			return err
		}
		return stand, nil
	}
	b.every = time.Nanosecond
	b.Step = func(s Status) { fmt.Println(s.Soak.Totals.Windows) }
	if _, err := Run(context.Background(), b.Options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Whenever the process is killed, the next one continues: each window counts once, and the measured
// time is the requested one.
func TestKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "soak")
	program, err := os.Executable()
	require.NoError(t, err)
	for kill := range crashKills {
		c := exec.CommandContext(t.Context(), program)
		c.Env = append(os.Environ(), childFolder+"="+folder)
		in, err := c.StdinPipe()
		require.NoError(t, err)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		require.NoError(t, c.Start())
		_, err = in.Write(make([]byte, windowsPerKill))
		require.NoError(t, err)
		_, err = out.Read(make([]byte, 1)) // the first window of this process has ended
		require.NoError(t, err)
		// Any moment is suitable: each kill has a different one.
		time.Sleep(time.Duration(kill) * crashWindow / 3)
		require.NoError(t, c.Process.Kill())
		require.Error(t, c.Wait(), "it was killed")
		require.Empty(t, stderr.String())
	}
	soak, err := Run(t.Context(), newBench(t, folder, crashWindows).Options)
	require.NoError(t, err)
	totals := soak.Totals
	assert.Equal(t, crashKills+1, totals.Starts)
	assert.InDelta(t, 10*crashWindows, soak.MeasuredS, 1e-6)
	assert.Equal(t, crashWindows, totals.Windows-totals.Cut)
	assert.LessOrEqual(t, totals.Cut, crashKills, "each kill cuts at most one window")
	assert.EqualValues(t, totals.Cut, totals.Ledger.InDoubt, "the account has the unknown tasks of a cut window")
	assert.Equal(t, totals.Cycles+uint64(6*totals.Cut), totals.Ledger.Completed)
	assert.Equal(t, result.Pass, soak.Verdict, "%v", soak.Reasons)
	for _, pattern := range []string{".*", filepath.Join(windowsDir, ".*")} {
		rest, err := filepath.Glob(filepath.Join(folder, pattern))
		require.NoError(t, err)
		assert.Empty(t, rest, "no unfinished file")
	}
}

// A kill between storing the whole result of a window and its row loses nothing.
func TestAWindowWithoutItsRow(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b := newBench(t, folder, 5)
	before, err := Run(b.stopAfter(t, 3), b.Options)
	require.ErrorIs(t, err, context.Canceled)
	path := filepath.Join(folder, rowsFile)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, cut := range map[string]int{"whole": 0, "in the middle": 30, "a byte": 1} {
		lines := bytes.SplitAfter(data, []byte("\n"))
		require.Len(t, lines, 4)
		torn := bytes.Join(lines[:2], nil)
		if cut > 0 {
			torn = append(torn, lines[2][:len(lines[2])-cut]...)
		}
		require.NoError(t, os.WriteFile(path, torn, 0o600))
		b = newBench(t, folder, 3)
		f, err := openFolder(folder, b.Scenario, time.Now())
		require.NoError(t, err, name)
		assert.Equal(t, cut > 0, f.rows.torn, name)
		assert.Equal(t, 2, f.rows.last(), name)
		restored, err := f.restore()
		require.NoError(t, err, name)
		assert.True(t, restored, name)
		restored, err = f.restore()
		require.NoError(t, err, name)
		assert.False(t, restored, name)
		soak, err := f.account(b.Scenario, b.For)
		require.NoError(t, err, name)
		assert.Equal(t, before.Totals.Ledger, soak.Totals.Ledger, name)
		require.NoError(t, f.close())
		now, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(data), string(now), name)
	}
}

// A kill between storing a window's row and the end of the Stand's account does not count the
// window twice.
func TestAWindowThatWasRecordedIsNotRecovered(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	b := newBench(t, folder, 5)
	_, err := Run(b.stopAfter(t, 3), b.Options)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, os.WriteFile(filepath.Join(folder, serversDir, fakeWindow), []byte("3"), 0o600))
	soak, err := Run(t.Context(), newBench(t, folder, 5).Options)
	require.NoError(t, err)
	assert.Equal(t, 5, soak.Totals.Windows)
	assert.Zero(t, soak.Totals.Cut)
}

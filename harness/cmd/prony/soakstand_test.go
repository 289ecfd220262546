package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/soak"
)

// soakOnServers is a soak of a few short windows.
const soakOnServers = `scenario "short" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 2
    workers   = 4
    batch     = 4
    in_flight = 100
    lease     = "2s"
  }
  phases {
    warmup = "10ms"
    window = "1s"
    drain  = "10s"
  }
  soak { for = "3s" }
  validity { on_breach = "warn" }
  invariant "conserved" {}
}
`

// A soak on real servers: the account of every window closes, each window has the figures for the
// drift, and no process or data remains.
func TestSoakOnServers(t *testing.T) {
	inFolder(t)
	write(t, "short.hcl", soakOnServers)
	got := prony(t, "soak", "--json", "--folder", "here", "short.hcl")
	assert.Equal(t, result.Inconclusive.ExitCode(), got.code, got.stderr)
	s, err := result.ReadSoak("here")
	require.NoError(t, err)
	assert.Equal(t, 3, s.Totals.Windows, "%v", s.Events)
	assert.Equal(t, 3, s.Totals.Judged, "%s", got.stderr)
	assert.Positive(t, s.Totals.Cycles)
	assert.GreaterOrEqual(t, s.Totals.Ledger.Completed, s.Totals.Cycles)
	assert.Zero(t, s.Totals.Ledger.AtFault())
	assert.Zero(t, s.Totals.ServerEnds)
	assert.NotEmpty(t, s.Manifest.Servers, "the settings of the servers")
	for _, point := range s.Points {
		require.Len(t, point.Processes, 2)
		for _, p := range point.Processes {
			assert.Greater(t, p.RSSMB, 1.0)
			assert.Greater(t, p.FDs, 1.0)
			assert.Greater(t, p.Goroutines, 1.0)
		}
		assert.Positive(t, point.Figures["disk_mb"])
	}
	for _, left := range []string{"data", "servers", "window"} {
		assert.NoDirExists(t, filepath.Join("here", "servers", left), "a finished soak needs no data")
	}
}

func TestWindowsOfADeployment(t *testing.T) {
	h := result.NewHistograms()
	w, err := soakWindow(&run.DeploymentWindow{
		Round: result.Round{Number: 7, Verdict: result.Pass}, Histograms: h, Warnings: []string{"a warning"},
		Processes: []run.ProcessSample{{Node: "harness", RSSBytes: 5, FDs: 6, Goroutines: 7}, {Node: "n1", RSSBytes: 1, FDs: 2, Goroutines: 3, DataBytes: 4}},
	})
	require.NoError(t, err)
	assert.Equal(t, 7, w.Number)
	assert.Len(t, w.Histograms, 3)
	assert.Equal(t, []string{"a warning"}, w.Warnings)
	assert.Empty(t, w.Events)
	assert.Equal(t, []soak.Process{{Name: soak.HarnessName, RSSBytes: 5, FDs: 6, Goroutines: 7}, {Name: "n1", RSSBytes: 1, FDs: 2, Goroutines: 3, DataBytes: 4}}, w.Processes)
	assert.False(t, w.Cut)

	w, err = soakWindow(&run.DeploymentWindow{
		Interrupted: true,
		Ends: []run.ServerEnd{{
			Node: "n2", Ended: time.Date(2026, 11, 25, 20, 1, 2, 0, time.UTC), Down: 1200 * time.Millisecond, Killed: true, Status: "signal: killed",
			Lines: []string{"one", "two", "three", "four"},
		}},
	})
	require.NoError(t, err)
	assert.True(t, w.Cut)
	assert.Nil(t, w.Histograms)
	assert.Equal(t, 1, w.ServerEnds)
	assert.Equal(t, []string{
		"server n2 ended by itself at 20:01:02 UTC, signal: killed, and was ready again after 1.2s; SIGKILL comes from another process or the kernel: two | three | four",
	}, w.Events)
}

func TestLogsOfASoakAreBounded(t *testing.T) {
	dir := t.TempDir()
	large, small := filepath.Join(dir, "server.log"), filepath.Join(dir, "small.log")
	require.NoError(t, os.WriteFile(large, make([]byte, soakLogBytesMax+1), 0o600))
	require.NoError(t, os.WriteFile(small, []byte("a line\n"), 0o600))
	require.NoError(t, (&deployed{logs: filepath.Join(dir, "*")}).boundLogs())
	for path, want := range map[string]int64{large: 0, small: 7} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, want, info.Size())
	}
}

// After a kill in the middle of a window, the soak continues, and the account of all windows
// closes.
func TestSoakWithAKill(t *testing.T) {
	t.Parallel()
	const windows = 3
	for name, c := range map[string]struct{ harness, server bool }{
		"of the harness": {harness: true}, "of the server": {server: true}, "of both": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "short.hcl"), soakOnServers)
			var stderr bytes.Buffer
			soak := func() *exec.Cmd {
				c := exec.CommandContext(t.Context(), pronyBinary, "soak", "--folder", "here", "--for", fmt.Sprintf("%ds", windows), "short.hcl")
				c.Dir, c.Env, c.Stderr = dir, append(os.Environ(), "PRONY_QUEUED="+queuedBinary), &stderr
				return c
			}
			first := soak()
			require.NoError(t, first.Start())
			stopInWindow(t, first.Process, filepath.Join(dir, "here"))
			if c.server {
				for _, pid := range serversOf(t, first.Process.Pid) {
					require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
				}
			}
			if c.harness {
				require.NoError(t, first.Process.Kill())
			} else {
				require.NoError(t, first.Process.Signal(syscall.SIGCONT))
			}
			err := first.Wait()
			starts := 1
			if c.harness {
				var killed *exec.ExitError
				require.ErrorAs(t, err, &killed)
				_ = soak().Run() // the test checks the windows instead of the exit code
				require.Contains(t, stderr.String(), "continues in the folder here")
				starts++
			}
			s, err := result.ReadSoak(filepath.Join(dir, "here"))
			require.NoError(t, err, stderr.String())
			assert.Equal(t, starts, s.Totals.Starts)
			assert.Zero(t, s.Totals.Ledger.AtFault(), "%v", s.Reasons)
			assert.Zero(t, s.Totals.Incorrect, "%v", s.Totals.IncorrectReasons)
			assert.Equal(t, windows, s.Totals.Windows-s.Totals.Cut)
			assert.Equal(t, 1, s.Totals.Cut, "%v", s.Events)
			if c.server && !c.harness {
				assert.Equal(t, 1, s.Totals.ServerEnds)
				assert.Equal(t, result.Regressed, s.Verdict)
			}
		})
	}
}

// stopInWindow stops a soak in its second window or later, while the window's account is open.
func stopInWindow(t *testing.T, process *os.Process, folder string) {
	t.Helper()
	inWindow := func() bool {
		rows, _ := os.ReadFile(filepath.Join(folder, "rows.jsonl"))
		_, err := os.Stat(filepath.Join(folder, "servers", "window", "window.json"))
		return bytes.Count(rows, []byte("\n")) >= 1 && err == nil
	}
	require.Eventually(t, func() bool {
		if !inWindow() {
			return false
		}
		require.NoError(t, process.Signal(syscall.SIGSTOP))
		if inWindow() {
			return true
		}
		require.NoError(t, process.Signal(syscall.SIGCONT)) // the window has already ended
		return false
	}, time.Minute, 10*time.Millisecond, "no second window")
}

func serversOf(t *testing.T, pid int) (pids []int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	require.NoError(t, err)
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		require.NoError(t, err)
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			require.NoError(t, err)
			pids = append(pids, child)
		}
	}
	require.NotEmpty(t, pids)
	return pids
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/result"
)

// The first steps of a new user: run, check and report, each in its default place.
func TestRunCheckReport(t *testing.T) {
	inFolder(t)
	pids := noting(t, fmt.Sprintf(`exec '%s' "$@"`, queuedBinary))
	ran := ranTiny(t, `capture "mutex" {}`, "--rounds", "1")
	require.Equal(t, 0, ran.code, ran.stderr)
	document := ran.document(t)
	nothingLeft(t, pids, defaultOut)

	t.Run("the document has the documented schema", func(t *testing.T) {
		var raw struct {
			Verdict   string
			Scenarios []struct {
				Name, Verdict, Run string
				Metrics            map[string]map[string]any
			}
		}
		require.NoError(t, json.Unmarshal([]byte(ran.stdout), &raw))
		assert.Equal(t, "pass", raw.Verdict)
		require.Len(t, raw.Scenarios, 1)
		s := raw.Scenarios[0]
		assert.Equal(t, "tiny", s.Name)
		assert.Equal(t, "pass", s.Verdict)
		assert.DirExists(t, s.Run)
		for _, spec := range result.Specs() {
			if spec.Part != "" && spec.Part != result.OfLoad {
				continue
			}
			metric := s.Metrics[spec.Name]
			for _, field := range []string{"median", "low", "high", "n"} {
				assert.IsType(t, 0.0, metric[field], "%s.%s", spec.Name, field)
			}
			assert.Equal(t, spec.Unit, metric["unit"], spec.Name)
		}
		assert.InDelta(t, 1, s.Metrics[result.CyclesPerS]["n"], 0, "--rounds overrides the file")
	})
	t.Run("printed and stored documents are valid by the schemas", func(t *testing.T) {
		valid(t, validator(t, "document"), []byte(ran.stdout))
		for name, file := range map[string]string{"result": result.ResultFile, "manifest": result.ManifestFile, "rounds": result.RoundsFile} {
			text, err := os.ReadFile(filepath.Join(document.Scenarios[0].Run, file))
			require.NoError(t, err)
			valid(t, validator(t, name), text)
		}
	})
	t.Run("the page is in the folder of the result", func(t *testing.T) {
		page := document.Scenarios[0].Page
		assert.Equal(t, filepath.Join(document.Scenarios[0].Run, "report.md"), page)
		assert.FileExists(t, page)
		assert.Contains(t, ran.stderr, "tiny: page "+page)
	})
	folder := document.Scenarios[0].Run
	assert.Equal(t, defaultOut, filepath.Dir(folder))
	assert.Contains(t, ran.stderr, "run folder "+folder)
	assert.NotContains(t, ran.stderr, "\x1b", "a buffer is not a terminal")
	read, _, err := result.Read(folder)
	require.NoError(t, err)
	assert.Len(t, read.Rounds, 2, "the timed round and the profiled one")
	assert.Equal(t, []string{"prony", "run", "--json", "--rounds", "1", "tiny.hcl"}, read.Manifest.Command)

	t.Run("check", func(t *testing.T) {
		write(t, "baselines/tiny.hcl", `
baseline "tiny" {
  floor "cycles_per_s" {
    min     = 0.001
    because = "it does something"
  }
}
`)
		got := prony(t, "check", "--json")
		assert.Equal(t, 0, got.code, got.stderr)
		checked := got.document(t)
		assert.Equal(t, result.Pass, checked.Verdict)
		assert.Equal(t, folder, checked.Scenarios[0].Run, "the link to the newest run is followed")
		assert.Equal(t, document.Scenarios[0].Metrics, checked.Scenarios[0].Metrics)
	})
	t.Run("report", func(t *testing.T) {
		got := prony(t, "report")
		assert.Equal(t, 0, got.code, got.stderr)
		assert.Equal(t, filepath.Join(folder, "report.md")+"\n", got.stdout)
		assert.Empty(t, got.stderr)
		assert.NotEmpty(t, read.Profiles)
		page, err := os.ReadFile(filepath.Join(folder, "report.md"))
		require.NoError(t, err)
		assert.Contains(t, string(page), "| payload, bytes | `fixed(64)` |")
		assert.Contains(t, string(page), "Every payload has 64 bytes.")
		assert.Contains(t, string(page), "contended unlock")
		for _, plot := range []string{"tiny-throughput.svg", "tiny-latency.svg"} {
			assert.FileExists(t, filepath.Join(folder, plot))
		}
	})
}

// ranTiny writes tiny.hcl and runs it.
func ranTiny(t *testing.T, more string, args ...string) command {
	t.Helper()
	write(t, "tiny.hcl", inTasks(tiny("tiny", "1s", more)))
	return prony(t, append(append([]string{"run", "--json"}, args...), "tiny.hcl")...)
}

// If the server answers nothing in a run's window, the run is invalid.
func TestARunWithoutACycleIsInvalid(t *testing.T) {
	longtest.Only(t)
	slow, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	inFolder(t)
	pids := noting(t, fmt.Sprintf("export PRONY_PLANTED=rpc:1s\nexec '%s' \"$@\"", slow))
	write(t, "tiny.hcl", tiny("tiny", "500ms", ""))
	ran := prony(t, "run", "--json", "--rounds", "1", "tiny.hcl")
	assert.Equal(t, 3, ran.code, ran.stderr)
	assert.Equal(t, result.Invalid, ran.document(t).Verdict)
	nothingLeft(t, pids, defaultOut)
}

// Scenarios run one after the other; the command ends with the worst of their verdicts.
func TestRunSeveralScenarios(t *testing.T) {
	inFolder(t)
	pids := noting(t, fmt.Sprintf(`[ "$(wc -l <"$(dirname "$0")/pids")" -lt 2 ] || { echo 'store: not today' >&2; exit 1; }
exec '%s' "$@"`, queuedBinary))
	write(t, "two.hcl", inTasks(tiny("first", "1s", "")+tiny("second", "1s", "")))
	got := prony(t, "run", "--out", "results", "--rounds", "1", "--json", "two.hcl")
	assert.Equal(t, 2, got.code)
	document := got.document(t)
	assert.Equal(t, result.Misconfigured, document.Verdict)
	require.Len(t, document.Scenarios, 2)
	assert.Equal(t, "first", document.Scenarios[0].Name)
	assert.Equal(t, result.Pass, document.Scenarios[0].Verdict)
	assert.Equal(t, result.Misconfigured, document.Scenarios[1].Verdict)
	require.NotEmpty(t, document.Scenarios[1].Reasons)
	assert.Contains(t, document.Scenarios[1].Reasons[0], "store: not today")
	assert.Contains(t, got.stderr, "store: not today")
	for _, s := range document.Scenarios {
		assert.Equal(t, "results", filepath.Dir(s.Run))
		assert.FileExists(t, filepath.Join(s.Run, result.ResultFile))
	}
	nothingLeft(t, pids, "results")
	assert.NoDirExists(t, defaultOut)
}

// If a server's store fails under load, the run ends with the server's last log lines and no
// figure.
func TestRunOnAFullDisk(t *testing.T) {
	inFolder(t)
	pids := noting(t, fmt.Sprintf("ulimit -f 64\nexec '%s' \"$@\"", queuedBinary))
	write(t, "tiny.hcl", tiny("tiny", "60s", ""))
	got := prony(t, "run", "--json", "tiny.hcl")
	assert.Equal(t, 5, got.code)
	assert.Contains(t, got.stderr, "round 1: the server ended by itself")
	assert.Contains(t, got.stderr, "status: exit status ")
	document := got.document(t)
	assert.Equal(t, result.Incorrect, document.Verdict)
	assert.NotContains(t, document.Scenarios[0].Metrics, result.CyclesPerS)
	nothingLeft(t, pids, defaultOut)
}

// The real program ends on Ctrl-C with the conventional exit code, and leaves nothing behind.
func TestInterruptedProgram(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := inFolder(t)
			tmp := t.TempDir()
			t.Setenv("TMPDIR", tmp)
			pids := noting(t, fmt.Sprintf(`exec '%s' "$@"`, queuedBinary))
			write(t, "tiny.hcl", `
scenario "tiny" {
  topology "single" {
    durability = "none"
    listen     = "unix"
  }
  workload "main" {
    driver    = "stream"
    producers = 2
    workers   = 4
    payload   = fixed(64)
  }
  phases { window = "10m" }
}
`)
			program := exec.Command(pronyBinary, "run", "--json", "tiny.hcl")
			var stdout, stderr bytes.Buffer
			program.Stdout, program.Stderr = &stdout, &stderr
			require.NoError(t, program.Start())
			ended := make(chan error, 1)
			go func() { ended <- program.Wait() }()
			defer func() { _ = program.Process.Kill() }()
			serving := func() bool {
				files, err := filepath.Glob(filepath.Join(dir, defaultOut, "*", "data", "topology-*", "server-*", "address.json"))
				return err == nil && len(files) == 1
			}
			require.Eventually(t, func() bool { return serving() || len(ended) > 0 }, 30*time.Second, 10*time.Millisecond)
			if len(ended) > 0 {
				require.Fail(t, "the program ended early", "%v\n%s", <-ended, &stderr)
			}
			sockets, err := filepath.Glob(filepath.Join(tmp, "prony-*"))
			require.NoError(t, err)
			require.Len(t, sockets, 1)
			require.NoError(t, program.Process.Signal(signal))
			select {
			case err := <-ended:
				var exit *exec.ExitError
				require.True(t, errors.As(err, &exit), "%v", err)
				assert.Equal(t, exitInterrupted, exit.ExitCode(), stderr.String())
			case <-time.After(time.Minute):
				require.Fail(t, "the program does not end")
			}
			assert.Empty(t, stdout.String())
			assert.True(t, strings.HasSuffix(stderr.String(), "\ninterrupted\n"), stderr.String())
			assert.NotContains(t, stderr.String(), "context canceled")
			nothingLeft(t, pids, defaultOut)
			assert.NoDirExists(t, sockets[0])
			assert.NoFileExists(t, filepath.Join(defaultOut, result.LatestLink))
		})
	}
}

// A sweep from its file to its page: each point has its own figures and limits.
func TestRunCheckReportOfASweep(t *testing.T) {
	inFolder(t)
	pids := noting(t, fmt.Sprintf(`exec '%s' "$@"`, queuedBinary))
	ran := ranTiny(t, `sweep "workload.main.batch" { values = [1, 8] }`, "--rounds", "2")
	require.Equal(t, 0, ran.code, ran.stderr)
	nothingLeft(t, pids, defaultOut)
	scenario := ran.document(t).Scenarios[0]
	require.Len(t, scenario.Points, 2)
	assert.Equal(t, "batch=8", scenario.Points[1].Name)
	assert.Equal(t, 2, scenario.Points[1].Metrics[result.CyclesPerS].N)
	assert.NotContains(t, scenario.Metrics, result.CyclesPerS)
	assert.Contains(t, ran.stderr, "  round 3 of 4, batch=1: ")

	write(t, "baselines/tiny.hcl", `
baseline "tiny" {
  floor "cycles_per_s" {
    min     = 0.001
    because = "it does something"
  }
  floor "cycles_per_s" {
    point   = "batch=8"
    min     = 1e12
    because = "more than it does"
  }
}
`)
	got := prony(t, "check", "--json")
	assert.Equal(t, 1, got.code, got.stderr)
	kept := map[string]bool{}
	for _, l := range got.document(t).Scenarios[0].Limits {
		if l.Metric == result.CyclesPerS {
			kept[l.Point] = l.OK
		}
	}
	assert.Equal(t, map[string]bool{"batch=1": true, "batch=8": false}, kept)
	assert.Len(t, got.document(t).Scenarios[0].Points, 2)

	got = prony(t, "report")
	assert.Equal(t, 0, got.code, got.stderr)
	assert.FileExists(t, filepath.Join(scenario.Run, "tiny-sweep.svg"))
}

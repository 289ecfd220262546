package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The real binaries, built once for all tests.
var queuedBinary, pronyBinary string

func TestMain(m *testing.M) {
	quiet = time.Hour // the output of a command does not depend on the speed of the host
	var err error
	if queuedBinary, err = buildtest.Program("queued", "engine/cmd/queued"); err == nil {
		pronyBinary, err = buildtest.Program("prony", "harness/cmd/prony")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// command is the outcome of a command line.
type command struct {
	code           int
	stdout, stderr string
}

func prony(t *testing.T, args ...string) command {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := execute(t.Context(), append([]string{"prony"}, args...), &stdout, &stderr)
	return command{code, stdout.String(), stderr.String()}
}

// sheet returns the golden file of a test's outputs.
func sheet(t *testing.T) *golden.Sheet {
	t.Helper()
	return golden.Cases(t, "testdata/outputs/"+t.Name()+".golden")
}

// mistake runs a command line that must fail as misconfigured, and compares the message.
func mistake(t *testing.T, s *golden.Sheet, args ...string) command {
	t.Helper()
	got := prony(t, args...)
	refused(t, s, strings.Join(append([]string{"$ prony"}, args...), " "), got)
	return got
}

// refused compares the message of a command that must have failed as misconfigured.
func refused(t *testing.T, s *golden.Sheet, name string, got command) {
	t.Helper()
	assert.Equal(t, result.Misconfigured.ExitCode(), got.code, name)
	s.Equal(t, name, errorOfGit.ReplaceAllString(got.stderr, "fatal: ..."))
}

// errorOfGit matches a message of git, which depends on its version.
var errorOfGit = regexp.MustCompile(`(?m)fatal: .*$`)

// document decodes stdout, which must be exactly one JSON document.
func (c command) document(t *testing.T) result.Document {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(c.stdout))
	decoder.DisallowUnknownFields()
	var d result.Document
	require.NoError(t, decoder.Decode(&d), c.stdout)
	assert.False(t, decoder.More(), "stdout has more than one document:\n%s", c.stdout)
	return d
}

// inFolder changes to a new folder, and sets the path of the real server.
func inFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PRONY_QUEUED", queuedBinary)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// tiny returns a scenario with short rounds.
func tiny(name, window, more string) string {
	return fmt.Sprintf(`
scenario %q {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 2
    workers   = 4
    payload   = fixed(64)
  }
  phases {
    warmup = "10ms"
    window = %q
  }
  rounds = 2
  invariant "conserved" {}
  validity { on_breach = "warn" } # a test does not depend on the fitness of its host
  %s
}
`, name, window, more)
}

// inTasks makes the windows of a tiny scenario end after a number of tasks, so that each has cycles
// even on a busy host.
func inTasks(text string) string {
	return windowLine.ReplaceAllString(text, "window = \"30s\"\n    tasks  = 500")
}

var windowLine = regexp.MustCompile(`window = "\w+"`)

// noting makes a server that appends its process id to the returned file and then runs line.
func noting(t *testing.T, line string) (pids string) {
	t.Helper()
	dir := t.TempDir()
	pids = filepath.Join(dir, "pids")
	path := filepath.Join(dir, "queued")
	require.NoError(t, buildtest.WriteScript(path, fmt.Sprintf("#!/bin/sh\necho $$ >>'%s'\n%s\n", pids, line)))
	t.Setenv("PRONY_QUEUED", path)
	return pids
}

// nothingLeft checks that no server and no data of the runs below out remains.
func nothingLeft(t *testing.T, pids, out string) {
	t.Helper()
	text, err := os.ReadFile(pids)
	require.NoError(t, err)
	require.NotEmpty(t, text)
	for field := range strings.FieldsSeq(string(text)) {
		_, err := strconv.Atoi(field)
		require.NoError(t, err)
		assert.NoDirExists(t, filepath.Join("/proc", field))
	}
	data, err := filepath.Glob(filepath.Join(out, "*", "data"))
	require.NoError(t, err)
	assert.Empty(t, data)
}

// stored stores a valid result with two rounds, applies change to it, and returns its folder.
func stored(t *testing.T, out, id string, change func(*result.Result)) string {
	t.Helper()
	r := &result.Result{
		Version: result.Version, Run: id, Scenario: "tiny", Title: "Tiny", Verdict: result.Pass,
		Manifest: result.Manifest{
			Command:  []string{"prony", "run", "tiny.hcl"},
			Scenario: scenario.Scenario{Name: "tiny", Topology: scenario.Topology{Kind: "single", Durability: "none"}},
		},
		Metrics: map[string]result.Metric{
			result.CyclesPerS: {Median: 1000, Low: 900, High: 1100, N: 2, Unit: "1/s"},
			result.Lost:       {N: 2, Unit: "tasks"},
			result.Duplicated: {N: 2, Unit: "tasks"},
			result.Corrupted:  {N: 2, Unit: "tasks"},
		},
	}
	var histograms []result.RoundHistograms
	for number := 1; number <= 2; number++ {
		round := result.Round{Number: number, Verdict: result.Pass, Cycles: 1000, WindowSeconds: 1}
		h := result.NewHistograms()
		for _, kind := range h.Kinds() {
			require.NoError(t, kind.Histogram.RecordValue(1_000_000))
		}
		round.Derive(h)
		r.Rounds = append(r.Rounds, round)
		histograms = append(histograms, result.RoundHistograms{Round: number, Histograms: h})
	}
	if change != nil {
		change(r)
	}
	folder, err := result.Create(out, id)
	require.NoError(t, err)
	require.NoError(t, folder.Store(r, histograms))
	return folder.Path()
}

const baseline = `
baseline "tiny" {
  floor "cycles_per_s" {
    min     = 500
    because = "half of what it does"
  }
}
`

func cancelled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

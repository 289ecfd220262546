package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runLimit bounds a k6 process: after this time it is killed, and the test fails.
const runLimit = 90 * time.Second

// k6's exit codes.
const (
	thresholdsCrossed = 99
	invalidConfig     = 104
	scriptException   = 107
	scriptAborted     = 108
)

// outcome is the result of a k6 process.
type outcome struct {
	code    int
	printed string // stdout and stderr
	metrics map[string]metric
}

// metric is a metric of k6's summary: its figures by their names there, and its thresholds.
type metric struct {
	figures    map[string]float64
	thresholds map[string]bool // crossed
}

func (m *metric) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	m.figures = make(map[string]float64)
	for name, value := range fields {
		var figure float64
		if name == "thresholds" {
			if err := json.Unmarshal(value, &m.thresholds); err != nil {
				return err
			}
		} else if json.Unmarshal(value, &figure) == nil {
			m.figures[name] = figure
		}
	}
	return nil
}

// start runs `k6 run` with arguments and additional environment variables. Call the result to wait
// for it.
func start(t *testing.T, env []string, args ...string) func() outcome {
	t.Helper()
	noteInputs(t)
	summary := filepath.Join(t.TempDir(), "summary.json")
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, k6, append([]string{
		"run", "--quiet", "--no-color", "--address", "", "--log-format", "raw", "--summary-export", summary,
	}, args...)...)
	var printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, &printed
	command.Env = append(clean(os.Environ()), env...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.WaitDelay = stopLimit
	require.NoError(t, command.Start())
	return func() outcome {
		err := command.Wait()
		require.NoError(t, ctx.Err(), "k6 did not end in time:\n%s", &printed)
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		o := outcome{code: command.ProcessState.ExitCode(), printed: printed.String()}
		if text, err := os.ReadFile(summary); err == nil {
			var exported struct {
				Metrics map[string]metric `json:"metrics"`
			}
			require.NoError(t, json.Unmarshal(text, &exported))
			o.metrics = exported.Metrics
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("k6 printed:\n%s", o.printed)
			}
		})
		return o
	}
}

// clean returns an environment without the variables of k6 and the extension.
func clean(env []string) []string {
	return slices.DeleteFunc(env, func(variable string) bool {
		return strings.HasPrefix(variable, "K6_") || strings.HasPrefix(variable, "PRONY_")
	})
}

// script writes a script to a temporary file and returns its path.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// balanced asserts that a run of a script of scenarios/k6 succeeded: exit code 0, and the
// thresholds of the ledger were evaluated and passed.
func (o outcome) balanced(t *testing.T) {
	t.Helper()
	require.Zero(t, o.code)
	for _, fault := range []string{"prony_lost", "prony_duplicated", "prony_corrupted", "prony_misrouted", "prony_failed_calls"} {
		require.Contains(t, o.metrics, fault)
		assert.Zero(t, o.metrics[fault].figures["count"], fault)
		assert.Contains(t, o.metrics[fault].thresholds, "count==0", fault)
	}
	o.judged(t)
}

// judged asserts that thresholds were evaluated, and none was crossed.
func (o outcome) judged(t *testing.T) {
	t.Helper()
	judged := 0
	for name, m := range o.metrics {
		for expression, crossed := range m.thresholds {
			judged++
			assert.False(t, crossed, "%s: %s", name, expression)
		}
	}
	assert.Positive(t, judged, "no threshold was evaluated")
}

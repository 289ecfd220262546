package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scripted is a scenario with a k6 script. Each test replaces ARRIVALS by a block.
const scripted = `
scenario "scripted" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "SCRIPT"
    tenants   = 2
    queues    = 3
    producers = 4
    workers   = 4
    batch     = 8
    payload   = fixed(100)
    arrivals  = ARRIVALS
  }
  phases {
    warmup = "200ms"
    window = "1s"
    drain  = "60s"
  }
  rounds = 1
  invariant "conserved" {}
  invariant "isolated" {}
  validity { on_breach = "warn" }
}
`

// folded is prony's output for a run.
type folded struct {
	Verdict   string `json:"verdict"`
	printed   string
	code      int
	Scenarios []struct {
		Metrics map[string]struct {
			Median float64 `json:"median"`
		} `json:"metrics"`
	} `json:"scenarios"`
}

// fold runs a scenario with a script through prony.
func fold(t *testing.T, path, arrivals string) folded {
	t.Helper()
	noteInputs(t)
	dir := t.TempDir()
	beside, err := filepath.Rel(dir, path)
	require.NoError(t, err)
	text := strings.NewReplacer("SCRIPT", beside, "ARRIVALS", arrivals).Replace(scripted)
	file := filepath.Join(dir, "scripted.hcl")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	command := exec.CommandContext(t.Context(), prony, "run", "--json", "--out", filepath.Join(dir, "runs"), file)
	command.Env = append(clean(os.Environ()), "PRONY_K6="+k6, "PRONY_QUEUED="+queued)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopLimit
	var out, printed bytes.Buffer
	command.Stdout, command.Stderr = &out, &printed
	err = command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	f := folded{code: command.ProcessState.ExitCode(), printed: out.String() + printed.String()}
	require.NoError(t, json.Unmarshal(out.Bytes(), &f), f.printed)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("prony printed:\n%s", f.printed)
		}
	})
	return f
}

// `prony run` runs plan.js with the scenario's load, and merges its outcome into an ordinary
// result.
func TestPronyRunFoldsAPlanIn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, "scenarios", "k6", "plan.js")
	for name, arrivals := range map[string]string{"closed": `closed()`, "open": `rate("200/s")`} {
		t.Run(name, func(t *testing.T) {
			f := fold(t, path, arrivals)
			require.Zero(t, f.code)
			assert.Equal(t, "pass", f.Verdict)
			require.Len(t, f.Scenarios, 1)
			metrics := f.Scenarios[0].Metrics
			for _, name := range []string{"cycles_per_s", "cycle_latency_ms_p99", "client_cpu_us_per_cycle", "server_cpu_us_per_cycle"} {
				assert.Positive(t, metrics[name].Median, name)
			}
			for _, name := range []string{"lost", "duplicated", "corrupted"} {
				require.Contains(t, metrics, name)
				assert.Zero(t, metrics[name].Median, name)
			}
			if name == "open" {
				assert.InDelta(t, 200, metrics["offered_per_s"].Median, 1)
				assert.Equal(t, 200.0, metrics["cycle_latency_ms_n"].Median, "the latencies include each task that was due")
			}
		})
	}
}

// A crossed threshold makes a run regressed, and a script's mistake makes it misconfigured.
func TestPronyRunJudgesTheScript(t *testing.T) {
	t.Parallel()
	plan, err := os.ReadFile(filepath.Join(root, "scenarios", "k6", "plan.js"))
	require.NoError(t, err)
	lib := filepath.Join(root, "scenarios", "k6", "lib")
	text := strings.ReplaceAll(string(plan), "'./lib/", "'"+lib+"/")
	require.Contains(t, text, "prony_cycles: ['count>0']")

	f := fold(t, script(t, "crossed.js", strings.Replace(text, "prony_cycles: ['count>0']", "prony_cycles: ['count<1']", 1)), `rate("100/s")`)
	assert.Equal(t, 1, f.code)
	assert.Equal(t, "regressed", f.Verdict)
	assert.Contains(t, f.printed, "prony_cycles")

	f = fold(t, script(t, "mistaken.js", strings.Replace(text, "queue.connect()", "queue.connect({ tokens: 'x' })", 1)), `rate("100/s")`)
	assert.Equal(t, 2, f.code)
	assert.Equal(t, "misconfigured", f.Verdict)
	assert.Contains(t, f.printed, "prony: connect: tokens: there is no such option; did you mean token?")
}

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shortened has parameters for each script of scenarios/k6, so that it takes a second or two and
// requires little speed of the host: only that most of the window's tasks are sent in it.
var shortened = map[string][]string{
	"smoke.js":             {"DURATION=2s"},
	"sustained.js":         {"DURATION=2s", "WARMUP=200ms", "RATE=200", "UNSENT_MAX=300"},
	"burst-and-drain.js":   {"DURATION=2s", "WARMUP=200ms", "EVERY=1s", "BURST=1000", "UNSENT_MAX=500"},
	"many-workers.js":      {"DURATION=2s", "WARMUP=200ms", "RATE=100", "UNSENT_MAX=150"},
	"prefilled-backlog.js": {"BACKLOG=3000"},
	"priorities.js":        {"ROUNDS=2"},
	"delayed.js":           {"DURATION=2s", "DELAY_MS_MAX=500"},
	"multi-tenant.js":      {"DURATION=2s", "RATE=10"},
	"plan.js":              {"DURATION=1s", "WARMUP=200ms", "TENANTS=2", "QUEUES=3", "PRODUCERS=4"},
	"throughput.js":        {"DURATION=1s", "WARMUP=200ms", "BATCH=1"},
}

// patient has a minute for all timeouts of the scripts.
var patient = []string{"P99_MS=60000", "LATE_MS_MAX=60000", "LIMIT=60s", "DRAIN=60s"}

func TestScripts(t *testing.T) {
	t.Parallel()
	s := serve(t)
	scripts, err := filepath.Glob(filepath.Join(root, "scenarios", "k6", "*.js"))
	require.NoError(t, err)
	assert.Len(t, scripts, len(shortened))
	for _, path := range scripts {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, shortened, name)
			env := append(s.environment(), patient...)
			o := start(t, append(env, shortened[name]...), path)()
			o.balanced(t)
			assert.Positive(t, o.metrics["prony_cycles"].figures["count"])
			metric, expression := asked(name)
			assert.Contains(t, o.metrics[metric].thresholds, expression, "the script requires cycles")
			assert.Positive(t, o.metrics["checks"].figures["passes"])
		})
	}
}

// asked returns the threshold with which a script requires cycles.
func asked(name string) (metric, expression string) {
	switch name {
	case "prefilled-backlog.js":
		return "prony_cycles", "count==3000"
	case "priorities.js":
		return "prony_cycles", "count==400"
	case "multi-tenant.js":
		return "prony_cycles{tenant:tenant-2}", "count>0"
	}
	return "prony_cycles", "count>0"
}

// The header of each script explains what it shows and how to run it, and lists its parameters.
func TestHeads(t *testing.T) {
	t.Parallel()
	noteInputs(t)
	for name := range shortened {
		text, err := os.ReadFile(filepath.Join(root, "scenarios", "k6", name))
		require.NoError(t, err)
		head := headOf(string(text))
		assert.Contains(t, head, "scenarios/k6/"+name, "%s: how to run it", name)
		for _, knob := range knobsOf(string(text)) {
			assert.Contains(t, head, knob, "%s: a knob", name)
		}
	}
}

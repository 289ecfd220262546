package k6

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/k6/k6api/k6test"
	"github.com/pronybench/prony/harness/k6run"
)

// Each process of a test writes the measurements of its part of the load.
func TestInstancesWriteTheirOutcomes(t *testing.T) {
	server := startServer(t)
	const init = `const c = queue.connect(), l = queue.load({window: '1h', drain: '1s'});`
	for name, segment := range map[string]string{"i0:1/4": "0:1/4", "i1/4:1": "1/4:1"} {
		env := server.env()
		env[k6run.OutcomeEnv] = filepath.Join(t.TempDir(), "outcome.json")
		module := New()
		vu := read(t, module, env, init)
		vu.RunAs(1, k6test.Segment(t, segment))
		vu.must(`await l.next(); await c.produce({queue: 'q-' + queue.instance().replace(/[^a-z0-9]/g, '-'), size: 64, count: 3});`)
		require.NoError(t, module.process.finish())
		text, err := os.ReadFile(env[k6run.OutcomeEnv])
		require.NoError(t, err)
		var got k6run.Instance
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Equal(t, k6run.Version, got.Version)
		assert.Equal(t, name, got.Name)
		assert.InDelta(t, map[string]float64{"i0:1/4": 0.25, "i1/4:1": 0.75}[name], got.Share, 1e-9)
		assert.Equal(t, time.Hour, got.Phases.Window)
		assert.Positive(t, got.Outcome.Ledger.Enqueued)
		assert.Contains(t, got.Outcome.Histograms, "cycle")
		assert.False(t, got.Outcome.Drained, "no worker completed the tasks")
	}
}

// It fails without a load, which defines the common window, and if the file cannot be written.
func TestAnInstanceNeedsALoadAndAFile(t *testing.T) {
	server := startServer(t)
	env := server.env()
	env[k6run.OutcomeEnv] = filepath.Join(t.TempDir(), "outcome.json")
	module := New()
	vu := run(t, env, `const c = queue.connect();`)
	vu.must(`await c.produce({queue: 'q', size: 64});`)
	s := golden.Cases(t, "testdata/instance.golden")
	s.Error(t, "no load", vu.module.process.finish())
	assert.NoFileExists(t, env[k6run.OutcomeEnv])

	env[k6run.OutcomeEnv] = filepath.Join(t.TempDir(), "missing", "outcome.json")
	vu = read(t, module, env, `const c = queue.connect(), l = queue.load({window: '1h'});`)
	vu.RunAs(1, k6test.Segment(t, "0:1"))
	vu.must(`await l.next();`)
	s.Replace(filepath.Dir(env[k6run.OutcomeEnv]), "FOLDER")
	s.Error(t, "no folder", module.process.finish())
}

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// The first slow cycle of a profiled round stores the execution of the real server before it, once.
// A round without a slow cycle stores nothing, and timed rounds do not record.
func TestTraceOfASlowCycle(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 1
	s.Captures = []scenario.Capture{{Kind: "trace", CycleLatency: time.Nanosecond}}
	e := execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	require.Len(t, e.result.Rounds, 2)
	assert.Empty(t, e.result.Rounds[0].Traces)
	require.Len(t, e.result.Rounds[1].Traces, 1, "%v", e.result.Warnings)
	trace := e.result.Rounds[1].Traces[0]
	assert.Equal(t, "traces/round-02.trace", trace.File)
	assert.Greater(t, trace.LatencyMs, trace.CeilingMs)
	assert.InDelta(t, 1e-6, trace.CeilingMs, 1e-12)
	assert.GreaterOrEqual(t, trace.AtS, 0.0)
	text, err := os.ReadFile(filepath.Join(e.folder, trace.File))
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), "go 1."), "%.20q", text)
	assert.Contains(t, string(text), "shard.(*decider).decide")
	assert.Contains(t, strings.Join(e.result.Warnings, "\n"), "the execution of the server before it is in traces/round-02.trace")

	s = small()
	s.Rounds = 1
	s.Captures = []scenario.Capture{{Kind: "trace", CycleLatency: time.Hour}}
	e = execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	assert.Empty(t, e.result.Rounds[1].Traces)
	assert.NoDirExists(t, filepath.Join(e.folder, tracesDir))
	assert.Empty(t, e.result.Profiles)
}

// A server without a flight recorder is still measured.
func TestTraceOfAServerWithoutARecorder(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds = 1
	s.Captures = []scenario.Capture{{Kind: "trace", CycleLatency: time.Nanosecond}}
	e := execute(t, s, acting(t, faultNone))
	assert.Empty(t, e.result.Rounds[1].Traces)
	assert.Contains(t, strings.Join(e.result.Warnings, "\n"), "round 2: no trace: start the flight recorder: POST")
}

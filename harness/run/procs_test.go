package run

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// Not parallel: it changes GOMAXPROCS of this process.
func TestServerAndGeneratorGetTheProcsThatTheScenarioSays(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	s := small()
	s.Topology.Procs, s.Workloads[0].Procs = before+1, before+2
	e := execute(t, s, real(t))
	require.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	assert.InDelta(t, before+1, e.result.Rounds[0].Server["go_sched_gomaxprocs_threads"], 0)
	assert.Equal(t, before+2, e.result.Manifest.Host.GOMAXPROCS)
	assert.Equal(t, "scenario", e.result.Manifest.Host.GOMAXPROCSSource)
	assert.Equal(t, before, runtime.GOMAXPROCS(0), "GOMAXPROCS is restored after the run")
}

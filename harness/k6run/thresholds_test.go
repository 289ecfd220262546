package k6run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

const summaryOfThresholds = `

  █ THRESHOLDS 

    prony_cycle_duration
    ✓ 'p(99)<900' p(99)=812.3ms
    ✗ 'p(95)<100' p(95)=312.5ms

    prony_failed
    ✗ 'rate<0.01' rate=3.00%


  █ TOTAL RESULTS 

    checks_total.......: 2
    ✗ is done
      ↳  50% — ✓ 1 / ✗ 1
`

func TestCrossedThresholdsHaveTheirValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "summary")
	require.NoError(t, os.WriteFile(path, []byte(summaryOfThresholds), 0o600))
	const said = "thresholds on metrics 'prony_cycle_duration, prony_failed' have been crossed"
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, []byte("some of it\n"+said+"\nthe end\n"), 0o600))
	s := golden.Cases(t, "testdata/thresholds.golden")
	s.Equal(t, "with a summary", crossed(path, log))

	// A script with a summary of its own, and no summary at all.
	require.NoError(t, os.WriteFile(path, []byte("all done: ✗ 'p(95)<100'\n"), 0o600))
	assert.Equal(t, said, crossed(path, log))
	assert.Equal(t, said, crossed(path+".none", log))
	s.Equal(t, "without a log", crossed(path+".none", log+".none"))
}

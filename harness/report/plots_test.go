package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestPlotsMarkInvalidRounds(t *testing.T) {
	r, hists := fixture(t, 7, 1)
	files := rendered(t, r, hists)
	assert.NotContains(t, files["fixture-throughput.svg"], "invalid")
	assert.NotContains(t, files["fixture-latency.svg"], "invalid")

	r.Rounds[1].Verdict, r.Rounds[4].Verdict = result.Invalid, result.Invalid
	r.Rounds[7].Verdict = result.Invalid // profiled: in none of the figures
	files = rendered(t, r, hists)
	s := sheet(t)
	s.Equal(t, "throughput", labels(files["fixture-throughput.svg"]))
	s.Equal(t, "latency", labels(files["fixture-latency.svg"]))
}

// The axis begins at the resolution of the clock, even if the generator was rarely late.
func TestTheLatencyAxisBeginsAtWhatCanBeMeasured(t *testing.T) {
	r, hists := fixture(t, 1, 0)
	require.NoError(t, hists[0].Enqueue.RecordValues(1, 100))
	files := rendered(t, r, hists)
	assert.Contains(t, files["fixture-latency.svg"], ">0.0001</text>")
	assert.NotContains(t, files["fixture-latency.svg"], "0.00001")
	assert.NotContains(t, files["fixture-latency.svg"], "e-0")
}

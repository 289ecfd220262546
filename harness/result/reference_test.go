package result

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAReferenceIsTheMedianOfItsSamples(t *testing.T) {
	r, err := SummariseReference("cpu", "a loop", []ReferenceSample{{PerS: 30, CPUUs: 3}, {PerS: 10, CPUUs: 9}, {PerS: 20, CPUUs: 4}})
	require.NoError(t, err)
	assert.Equal(t, Metric{Median: 20, Low: 10, High: 30, N: 3, Unit: "1/s"}, r.PerS)
	assert.Equal(t, Metric{Median: 4, Low: 3, High: 9, N: 3, Unit: "us"}, r.CPUUs)
	assert.Len(t, r.Samples, 3)
	rate, ok := r.ReferenceFigure(CyclesPerS)
	assert.True(t, ok)
	assert.Equal(t, r.PerS, rate)
	cost, ok := r.ReferenceFigure(ServerCPUUsPerCycle)
	assert.True(t, ok)
	assert.Equal(t, r.CPUUs, cost)
	_, ok = r.ReferenceFigure(ServerRSSMBMax)
	assert.False(t, ok)
}

func TestAReferenceWithoutAMeasurementIsRefused(t *testing.T) {
	for _, samples := range [][]ReferenceSample{nil, {{PerS: 0, CPUUs: 1}}, {{PerS: 1, CPUUs: -1}}, {{PerS: math.NaN(), CPUUs: 1}}, {{PerS: 1, CPUUs: math.Inf(1)}}} {
		_, err := SummariseReference("cpu", "a loop", samples)
		assert.ErrorContains(t, err, "reference cpu", samples)
	}
}

package plots_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report/plots"
	"github.com/pronybench/prony/harness/result"
)

// The plots share one scale. The widest interval sets it, and it covers at least half to twice.
func TestMultiplesShareAScale(t *testing.T) {
	one := result.Metric{Median: 1, Low: 1, High: 1}
	flat := plots.Multiple{Title: "memory (none)", Values: []string{"1GiB", "2GiB"}, Ratios: []result.Metric{one, {Median: 1.01, Low: 0.98, High: 1.03}}}
	steep := plots.Multiple{Title: "batch (sync)", Values: []string{"1", "64"}, Ratios: []result.Metric{one, {Median: 6, Low: 5, High: 9}}}
	alone, err := plots.Multiples([]plots.Multiple{flat})
	require.NoError(t, err)
	assert.Contains(t, string(alone), ">0.5</text>")
	assert.Contains(t, string(alone), ">2</text>")
	assert.NotContains(t, string(alone), ">8</text>")
	both, err := plots.Multiples([]plots.Multiple{flat, steep})
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(both), ">8</text>"), "the flat plot has the scale of the steep one")
	for _, name := range []string{"memory (none)", "batch (sync)", "1GiB", "64"} {
		assert.Contains(t, string(both), ">"+name+"</text>")
	}
	again, err := plots.Multiples([]plots.Multiple{flat, steep})
	require.NoError(t, err)
	assert.Equal(t, both, again)
}

func TestMultiplesThatCannotBeDrawn(t *testing.T) {
	_, err := plots.Multiples(nil)
	assert.ErrorContains(t, err, "no plots")
	_, err = plots.Multiples([]plots.Multiple{{Title: "memory", Values: []string{"1"}}})
	assert.ErrorContains(t, err, "memory has 1 values and 0 ratios")
	for _, r := range []result.Metric{{}, {Median: 1, Low: 2, High: 3}, {Median: 3, Low: 1, High: 2}, {Median: 1, Low: 1, High: math.Inf(1)}, {Median: 1, Low: math.NaN(), High: 1}} {
		_, err = plots.Multiples([]plots.Multiple{{Title: "memory", Values: []string{"1"}, Ratios: []result.Metric{r}}})
		assert.ErrorContains(t, err, "cannot be drawn", r)
	}
}

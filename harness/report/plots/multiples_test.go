package plots_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
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
	golden.Text(t, "testdata/multiple.svg", string(alone))
	both, err := plots.Multiples([]plots.Multiple{flat, steep})
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(both), ">8</text>"), "the flat plot has the scale of the steep one")
	golden.Text(t, "testdata/multiples.svg", string(both))
	again, err := plots.Multiples([]plots.Multiple{flat, steep})
	require.NoError(t, err)
	assert.Equal(t, both, again)
}

func TestMultiplesThatCannotBeDrawn(t *testing.T) {
	s := golden.Cases(t, "testdata/multiples.golden")
	_, err := plots.Multiples(nil)
	s.Error(t, "none", err)
	_, err = plots.Multiples([]plots.Multiple{{Title: "memory", Values: []string{"1"}}})
	s.Error(t, "a value without a ratio", err)
	for _, r := range []result.Metric{{}, {Median: 1, Low: 2, High: 3}, {Median: 3, Low: 1, High: 2}, {Median: 1, Low: 1, High: math.Inf(1)}, {Median: 1, Low: math.NaN(), High: 1}} {
		_, err = plots.Multiples([]plots.Multiple{{Title: "memory", Values: []string{"1"}, Ratios: []result.Metric{r}}})
		s.Error(t, fmt.Sprint(r.Median, " in ", r.Low, " to ", r.High), err)
	}
}

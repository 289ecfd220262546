package result

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// falling returns a round whose rate falls linearly from first to last cycles a second.
func falling(number, samples int, first, last float64) Round {
	r := Round{Number: number, WindowSeconds: float64(samples), Cycles: 1}
	for i := range samples {
		r.Series = append(r.Series, Sample{AtS: float64(i + 1), CyclesPerS: first + (last-first)*(float64(i)+0.5)/float64(samples), DiskMB: 1})
	}
	return r
}

func TestDecayOfRounds(t *testing.T) {
	t.Parallel()
	profiled := falling(3, 100, 1000, 1)
	profiled.Profiled = true
	d, err := Decay([]Round{falling(1, 100, 1050, 950), falling(2, 100, 1000, 1000), profiled})
	require.NoError(t, err)
	assert.InDelta(t, 5, d.Median, 1e-6, "the mean of 10 % and 0 %; the profiled round does not count")
	assert.LessOrEqual(t, d.Low, d.Median)
	assert.GreaterOrEqual(t, d.High, d.Median)
	assert.Equal(t, 2, d.N)
	assert.Equal(t, "%", d.Unit)
}

func TestDecayIsAMetricOfASeries(t *testing.T) {
	t.Parallel()
	r := falling(1, 100, 1050, 950)
	r.Derive(Histograms{})
	assert.InDelta(t, 10, r.Metrics[DecayPercent], 1e-6)
	found, err := summariseTimed([]Round{r}, nil, func(s Spec) bool { return s.Part == OfSeries })
	require.Error(t, err, "the round has no histograms")
	assert.InDelta(t, 10, found[DecayPercent].Median, 1e-6)
	assert.NotZero(t, found[DecayPercent].High)
}

// A series without a computable decay has no metric, so a limit on it is broken with a reason.
func TestDecayThatIsUnknown(t *testing.T) {
	t.Parallel()
	stopped, broken := falling(1, 100, 0, 0), falling(1, 100, 10, 10)
	broken.Series[7].CyclesPerS = math.NaN()
	s := golden.Cases(t, "testdata/decays.golden")
	for name, r := range map[string]Round{
		"ten values": falling(1, 10, 2, 1),
		"zero":       stopped,
		"NaN":        broken,
		"no series":  {Number: 1},
	} {
		_, err := Decay([]Round{r})
		s.Error(t, name, err)
		r.Derive(Histograms{})
		assert.NotContains(t, r.Metrics, DecayPercent)
		found, _ := summariseTimed([]Round{r}, nil, func(s Spec) bool { return s.Name == DecayPercent })
		assert.NotContains(t, found, DecayPercent)
	}
}

package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLiveBucketsHoldWhatTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, int64(time.Hour)).Draw(t, "ns")
		upper := int64(liveUpper(liveBucket(ns)))
		require.GreaterOrEqual(t, upper, ns)
		require.LessOrEqual(t, float64(upper), float64(ns)*1.125)
		if b := liveBucket(ns); b > 0 {
			require.Less(t, int64(liveUpper(b-1)), ns)
		}
	})
	assert.Equal(t, liveBuckets-1, liveBucket(math.MaxInt64))
	assert.Zero(t, liveBucket(-1))
}

func TestLivePercentile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l live
		require.Zero(t, l.p99())
		values := rapid.SliceOfN(rapid.Int64Range(0, int64(time.Minute)), 1, 300).Draw(t, "values")
		for _, v := range values {
			l.note(v, 1)
		}
		slices.Sort(values)
		want := values[int(math.Ceil(float64(len(values))*0.99))-1]
		got := int64(l.p99())
		require.GreaterOrEqual(t, got, want)
		require.LessOrEqual(t, float64(got), float64(want)*1.125)
	})
}

package observe

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
)

var inf = math.Inf(1)

func TestScrapeAllKeepsBuckets(t *testing.T) {
	m, err := ScrapeAll(t.Context(), admin(t, "/metrics", `# TYPE s histogram
s_bucket{stage="a",shard="0",le="1"} 2
s_bucket{stage="a",shard="0",le="2"} 5
s_bucket{stage="a",shard="0",le="+Inf"} 6
s_sum{stage="a",shard="0"} 9
s_count{stage="a",shard="0"} 6
s_bucket{stage="a",shard="1",le="1"} 1
s_bucket{stage="a",shard="1",le="2"} 1
s_bucket{stage="a",shard="1",le="+Inf"} 1
s_sum{stage="a",shard="1"} 1
s_count{stage="a",shard="1"} 1
s_bucket{stage="b",shard="0",le="1"} 0
s_bucket{stage="b",shard="0",le="+Inf"} 4
s_sum{stage="b",shard="0"} 40
s_count{stage="b",shard="0"} 4
`))
	require.NoError(t, err)
	assert.Equal(t, map[string]Buckets{
		`s{stage="a"}`: {{1, 3}, {2, 3}, {inf, 1}},
		`s{stage="b"}`: {{1, 0}, {inf, 4}},
	}, m.Histograms)
	assert.Equal(t, map[string]float64{
		`s_sum{stage="a"}`: 10, `s_count{stage="a"}`: 7, `s_sum{stage="b"}`: 40, `s_count{stage="b"}`: 4,
	}, m.Values)
}

func TestBuckets(t *testing.T) {
	s := golden.Cases(t, "testdata/buckets.golden")
	b := Buckets{{1, 2}, {2, 0}, {4, 6}, {inf, 2}}
	assert.EqualValues(t, 10, b.Total())
	assert.InDelta(t, 0.5, b.Quantile(0.1), 1e-12, "the first of two values up to 1")
	assert.InDelta(t, 3, b.Quantile(0.5), 1e-12, "half of the values from 2 to 4")
	assert.InDelta(t, 4, b.Quantile(0.99), 1e-12, "the last bound")
	assert.LessOrEqual(t, Buckets{{16.000000000010914, 0}, {100, 0x187}}.Quantile(1), 100.0, "rounding does not exceed a bound")
	assert.InDelta(t, 4, b.Highest(), 0)
	assert.InDelta(t, 1, Buckets{{1, 2}, {2, 0}}.Highest(), 0)
	assert.Zero(t, Buckets(nil).Quantile(0.5))
	assert.Zero(t, Buckets{{1, 0}}.Highest())

	grown, err := b.Since(Buckets{{1, 1}, {4, 6}})
	require.NoError(t, err)
	assert.Equal(t, Buckets{{1, 1}, {2, 0}, {4, 0}, {inf, 2}}, grown)
	_, err = b.Since(Buckets{{1, 3}})
	s.Error(t, "fewer values", err)
	_, err = b.Since(Buckets{{3, 1}})
	s.Error(t, "a lost bucket", err)
}

func TestBucketsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) Buckets {
			var b Buckets
			for _, upper := range slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.Float64Range(1, 100), 0, 8).Draw(t, label+" bounds")))) {
				b = append(b, Bucket{upper, rapid.Uint64Range(0, 1000).Draw(t, label)})
			}
			return append(b, Bucket{inf, rapid.Uint64Range(0, 3).Draw(t, label+" beyond")})
		}
		a, b := draw("a"), draw("b")
		sum := a.Plus(b)
		require.Equal(t, a.Total()+b.Total(), sum.Total())
		rest, err := sum.Since(b)
		require.NoError(t, err)
		require.Equal(t, a.Total(), rest.Total())
		last := 0.0
		for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
			v := sum.Quantile(q)
			require.GreaterOrEqual(t, v, last)
			require.LessOrEqual(t, v, 100.0)
			last = v
		}
	})
}

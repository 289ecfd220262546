package stages

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestABucketHoldsWhatIsAboveTheBoundBelowIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "d"))
		i := bucket(d)
		if i < boundsMax {
			require.LessOrEqual(t, d, Bound(i))
		}
		if i > 0 {
			require.Greater(t, d, Bound(i-1))
		}
	})
	assert.Equal(t, 0, bucket(time.Microsecond))
	assert.Equal(t, 1, bucket(time.Microsecond+1))
	assert.Equal(t, boundsMax, bucket(time.Hour))
}

func TestReadAddsUp(t *testing.T) {
	var times Times
	for _, d := range []time.Duration{500, 3 * time.Microsecond, 3 * time.Microsecond, time.Minute} {
		times.Observe(Timed{Decide, d})
	}
	h := times.Read(Decide)
	assert.Equal(t, uint64(4), h.Count)
	assert.Equal(t, time.Minute+6*time.Microsecond+500, h.Sum)
	assert.Equal(t, []uint64{1, 1, 3, 3}, h.Upto[:4])
	assert.Equal(t, uint64(3), h.Upto[boundsMax-1], "a minute is above all bounds")
	assert.Zero(t, times.Read(Inbox).Count)
}

func TestEachStageHasAName(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		assert.NotEmpty(t, s.String())
		seen[s.String()] = true
	}
	assert.Len(t, seen, int(count))
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		_ = Now()
	}
}

// A sample that represents several times counts several times.
func TestASampleStandsForAll(t *testing.T) {
	var one, all Times
	one.ObserveSample(Timed{Receive, 3 * time.Microsecond}, 4)
	for range 4 {
		all.Observe(Timed{Receive, 3 * time.Microsecond})
	}
	assert.Equal(t, all.Read(Receive), one.Read(Receive))
}

package stat

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestQuantilesAreKept(t *testing.T) {
	studentQuantile(1234, 0.9)
	of := quantile{1234, 0.9}
	assert.Contains(t, quantiles.known, of)
	quantiles.known[of] = 7
	assert.Equal(t, 7.0, studentQuantile(1234, 0.9), "the cached value is returned")
	delete(quantiles.known, of)
}

// Concurrent callers get the quantiles of the distribution, also after the cache was emptied.
func TestKeptQuantilesAreThoseOfTheDistribution(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2 {
				for _, p := range []float64{0.05, 0.95, 0.975} {
					for degrees := 1; degrees < 20; degrees++ {
						assert.InDelta(t, student(degrees).Quantile(p), studentQuantile(degrees, p), 0, "%d degrees, %v", degrees, p)
					}
				}
			}
		})
	}
	all.Wait()
	for degrees := range 2 * quantilesMax {
		studentQuantile(degrees+1, 0.9)
		assert.LessOrEqual(t, len(quantiles.known), quantilesMax)
	}
	assert.InDelta(t, student(3).Quantile(0.9), studentQuantile(3, 0.9), 0)
}

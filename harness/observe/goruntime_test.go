package observe

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

var kept [][]byte

func TestOwnRuntimeCountsWhatIsAllocated(t *testing.T) {
	before := OwnRuntime()
	for range 1000 {
		kept = append(kept, make([]byte, 4096))
	}
	runtime.GC()
	after := OwnRuntime()
	kept = nil
	done, err := after.Since(before)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, done.AllocatedBytes, uint64(1000*4096))
	assert.GreaterOrEqual(t, done.AllocatedObjects, uint64(1000))
	assert.GreaterOrEqual(t, done.GCCycles, uint64(1))
	assert.GreaterOrEqual(t, done.GCPauses.Total(), uint64(1))
	assert.Positive(t, done.GCPauses.Highest())
	assert.LessOrEqual(t, done.GCPauses.Quantile(0.5), done.GCPauses.Highest())
	assert.Positive(t, done.Goroutines)
	_, err = before.Since(after)
	golden.Cases(t, "testdata/runtimes.golden").Error(t, "decreased", err)
}

func TestRuntimeOfAServer(t *testing.T) {
	m := Metrics{
		Values:     map[string]float64{scrapedBytes: 1e9, scrapedObjects: 2e6, scrapedCycles: 3, scrapedGoroutines: 40},
		Histograms: map[string]Buckets{scrapedPauses: {{1e-3, 6}, {inf, 0}}},
	}
	r, err := RuntimeOf(m)
	require.NoError(t, err)
	assert.Equal(t, Runtime{AllocatedBytes: 1e9, AllocatedObjects: 2e6, GCCycles: 3, Goroutines: 40, GCPauses: Buckets{{1e-3, 6}, {inf, 0}}}, r)
	for name := range m.Values {
		less := Metrics{Values: map[string]float64{}, Histograms: m.Histograms}
		for other, v := range m.Values {
			if other != name {
				less.Values[other] = v
			}
		}
		_, err := RuntimeOf(less)
		require.ErrorContains(t, err, name)
	}
	_, err = RuntimeOf(Metrics{Values: m.Values})
	require.ErrorContains(t, err, scrapedPauses)
}

func TestFDs(t *testing.T) {
	before, err := FDs(os.Getpid())
	require.NoError(t, err)
	dir := t.TempDir()
	var files []*os.File
	for range 64 {
		file, err := os.CreateTemp(dir, "")
		require.NoError(t, err)
		files = append(files, file)
	}
	after, err := FDs(os.Getpid())
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, file.Close())
	}
	assert.InDelta(t, before+64, after, 16, "connections of other tests may close concurrently")
	_, err = FDs(1<<22 + 1)
	golden.Cases(t, "testdata/fds.golden").Error(t, "no process", err)
}

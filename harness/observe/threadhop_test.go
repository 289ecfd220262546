package observe

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHopsAreBoundedByCountAndTime(t *testing.T) {
	pipes := func() (n int) { // idle connections of other tests may close meanwhile
		open, err := filepath.Glob("/proc/self/fd/*")
		require.NoError(t, err)
		for _, file := range open {
			if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "pipe:") {
				n++
			}
		}
		return n
	}
	before := pipes()
	hop, err := measureThreadHop(2, 5, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, 5, hop.n)
	assert.Positive(t, hop.p50)
	assert.GreaterOrEqual(t, hop.p99, hop.p50)
	hop, err = measureThreadHop(2, 1000, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, hop.n)
	assert.Equal(t, before, pipes(), "the pipes are closed")
}

// A process with GOMAXPROCS 1 also measures the kernel's hop, and has GOMAXPROCS 1 afterwards.
func TestHopWithOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	hop, err := measureThreadHop(0, 3, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, 3, hop.n)
	assert.Equal(t, 1, runtime.GOMAXPROCS(0))
}

func TestRank(t *testing.T) {
	samples := make([]time.Duration, 200)
	for i := range samples {
		samples[i] = time.Duration(i + 1)
	}
	assert.Equal(t, time.Duration(100), rank(samples, 50))
	assert.Equal(t, time.Duration(198), rank(samples, 99))
	assert.Equal(t, time.Duration(64), rank(samples[:64], 99), "for few samples it is the largest")
	assert.Equal(t, time.Duration(1), rank(samples[:1], 50))
}

func TestPressureOfTheLastSeconds(t *testing.T) {
	for text, want := range map[string]*float64{
		"some avg10=12.50 avg60=3.00 avg300=1.00 total=99\nfull avg10=1.00 avg60=0.00 avg300=0.00 total=0\n": new(12.5),
		"some avg10=nan avg60=3.00 avg300=1.00 total=99\n":                                                   nil,
		"full avg10=1.00 avg60=0.00 avg300=0.00 total=0\n":                                                   nil,
		"": nil,
	} {
		root := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(root, "proc", "pressure"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, "proc", "pressure", "cpu"), []byte(text), 0o600))
		assert.Equal(t, want, hostFiles{root: root}.cpuPressurePercent(), text)
	}
	assert.Nil(t, hostFiles{root: t.TempDir()}.cpuPressurePercent())
}

package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/report"
)

const golden = "testdata/golden"

// The golden files under testdata have the page and the plots of the stored run, byte for byte.
// After an intended change: go test ./report -update, and read the difference.
func TestGoldenPage(t *testing.T) {
	if *update {
		updateFixture(t)
		_, err := report.Render(nil, fixtureRun, golden)
		require.NoError(t, err)
	}
	out := t.TempDir()
	written, err := report.Render(nil, fixtureRun, out)
	require.NoError(t, err)
	assert.Equal(t, []string{"fixture.md", "fixture-throughput.svg", "fixture-latency.svg"}, bases(written))
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 3, "no other files in the folder")
	for _, path := range written {
		want, err := os.ReadFile(filepath.Join(golden, filepath.Base(path)))
		require.NoError(t, err)
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), filepath.Base(path))
	}
}

func bases(paths []string) []string {
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

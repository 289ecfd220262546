package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/report"
)

// The golden files under testdata have the page and the plots of the stored run, byte for byte.
func TestGoldenPage(t *testing.T) {
	if golden.Writing(t) {
		updateFixture(t)
	}
	out := t.TempDir()
	written, err := report.Render(nil, fixtureRun, out)
	require.NoError(t, err)
	assert.Equal(t, []string{"fixture.md", "fixture-throughput.svg", "fixture-latency.svg"}, bases(written))
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	assert.Len(t, entries, 3, "no other files in the folder")
	asGolden(t, contents(t, written))
}

// asGolden compares files with those under testdata/golden.
func asGolden(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		golden.Text(t, "testdata/golden/"+name, text)
	}
}

func bases(paths []string) []string {
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

package result_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func TestCheckLatest(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, result.CheckLatest(filepath.Join(out, "none")))
	require.NoError(t, result.CheckLatest(out))
	link := filepath.Join(out, result.LatestLink)
	require.NoError(t, os.Symlink("gone", link))
	require.NoError(t, result.CheckLatest(out))
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Mkdir(link, 0o755))
	s := golden.Cases(t, "testdata/latest.golden")
	s.Replace(out, "FOLDER")
	s.Error(t, "a folder", result.CheckLatest(out))
}

package k6run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestFind(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(work)
	t.Setenv(BinaryEnv, "")
	_, err = Find()
	s := golden.Cases(t, "testdata/find.golden")
	s.Replace(work, "WORK")
	self, own := os.Executable()
	require.NoError(t, own)
	s.Replace(filepath.Dir(self), "SELF")
	s.Error(t, "nowhere", err)

	named := filepath.Join(work, "other")
	require.NoError(t, os.WriteFile(named, nil, 0o700))
	t.Setenv(BinaryEnv, named)
	found, err := Find()
	require.NoError(t, err)
	assert.Equal(t, named, found)
}

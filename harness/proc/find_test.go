package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

const wheelEnv = "PROGRAM_TEST_WHEEL"

var wheel = Binary{Called: "the wheel", File: "wheel", Env: wheelEnv, Make: "wheels", Wanted: "a round wheel"}

func executable(t *testing.T, path string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	return path
}

func TestFind(t *testing.T) {
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(work)
	t.Setenv(wheelEnv, "")
	beside := filepath.Join(t.TempDir(), "tools")

	_, err = wheel.find(beside)
	s := golden.Cases(t, "testdata/find.golden")
	s.Replace(beside, "BESIDE")
	s.Replace(work, "WORK")
	s.Error(t, "nowhere", err)

	executable(t, filepath.Join(work, "wheel")) // not in a searched folder
	inWork := executable(t, filepath.Join(work, "bin", "wheel"))
	found, err := wheel.find(beside)
	require.NoError(t, err)
	assert.Equal(t, inWork, found)
	found, err = wheel.find("")
	require.NoError(t, err)
	assert.Equal(t, inWork, found)

	besideIt := executable(t, filepath.Join(beside, "wheel"))
	found, err = wheel.find(beside)
	require.NoError(t, err)
	assert.Equal(t, besideIt, found)

	named := executable(t, filepath.Join(work, "other"))
	t.Setenv(wheelEnv, "other")
	found, err = wheel.find(beside)
	require.NoError(t, err)
	assert.Equal(t, named, found, "relative names are made absolute")
}

func TestFindLooksBesideTheRunningProgram(t *testing.T) {
	running, err := os.Executable()
	require.NoError(t, err)
	running, err = filepath.EvalSymlinks(running)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(running, link))
	for _, called := range []string{running, link} {
		p, said := startedAs(t, called, "find "+filepath.Base(running))
		assert.Equal(t, running, line(t, said))
		<-p.Done()
	}
}

func TestFindDoesNotPassOverWhatIsNamed(t *testing.T) {
	beside := t.TempDir()
	executable(t, filepath.Join(beside, "wheel"))
	t.Setenv(wheelEnv, filepath.Join(beside, "missing"))
	_, err := wheel.find(beside)
	require.ErrorIs(t, err, os.ErrNotExist)

	plain := filepath.Join(beside, "plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	for _, name := range []string{plain, beside} {
		t.Setenv(wheelEnv, name)
		_, err = wheel.find(beside)
		require.ErrorContains(t, err, name+" is not an executable file")
	}
}

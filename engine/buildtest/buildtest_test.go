package buildtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Concurrent callers that build the same program get a working one. A program that is up to date is
// not written again.
func TestAProgramIsBuiltOnce(t *testing.T) {
	build := func() os.FileInfo {
		path, err := Program("buildtest-example", "engine/buildtest/testdata/example")
		if !assert.NoError(t, err) {
			return nil
		}
		out, err := exec.Command(path).Output()
		assert.NoError(t, err)
		assert.Equal(t, "built\n", string(out))
		info, err := os.Stat(path)
		assert.NoError(t, err)
		return info
	}
	first := build()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if again := build(); first != nil && again != nil {
				assert.True(t, os.SameFile(first, again))
			}
		})
	}
	all.Wait()
}

func TestABuildThatFailsSaysWhy(t *testing.T) {
	_, err := Program("buildtest-missing", "engine/buildtest/testdata/missing")
	require.ErrorContains(t, err, "build buildtest-missing in ")
	t.Chdir(t.TempDir())
	_, err = Program("buildtest-example", "engine/buildtest/testdata/example")
	require.ErrorContains(t, err, "is not in a checkout of the repository")
}

// A script can be written and started while other processes are started.
func TestAScriptRunsWhateverElseStarts(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for writer := range 8 {
		all.Go(func() {
			for i := range 100 {
				path := filepath.Join(dir, fmt.Sprintf("script-%d-%d", writer, i))
				if !assert.NoError(t, WriteScript(path, "#!/bin/sh\n")) || !assert.NoError(t, exec.CommandContext(t.Context(), path).Run()) {
					return
				}
			}
		})
	}
	all.Wait()
	require.ErrorContains(t, WriteScript(filepath.Join(dir, "none", "script"), ""), "write a script: ")
}

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/baselinebuild"
)

// sourceRepository makes a repository with a workspace whose engine has a server, changes to it,
// and gives the test a cache folder.
func sourceRepository(t *testing.T) (root, commit string) {
	t.Helper()
	root = t.TempDir()
	t.Chdir(root)
	// The go command would follow the folder of caches, and compile the standard library again.
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	write(t, "go.work", "go 1.26.0\n\nuse (\n\t./engine\n\t./harness\n)\n")
	write(t, "harness/go.mod", "module example.com/harness\n\ngo 1.26.0\n")
	write(t, "engine/go.mod", "module example.com/engine\n\ngo 1.26.0\n")
	write(t, "engine/cmd/queued/main.go", "package main\n\nfunc main() { println(\"first\") }\n")
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "first"}} {
		gitIn(t, root, args...)
	}
	return root, gitIn(t, root, "rev-parse", "HEAD")
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Dir = dir
	output, err := c.CombinedOutput()
	require.NoError(t, err, string(output))
	return strings.TrimSpace(string(output))
}

// The server of the baseline build is built once from its commit, independent of the working tree.
func TestTheServerOfTheBaselineBuild(t *testing.T) {
	_, commit := sourceRepository(t)
	write(t, "engine/cmd/queued/main.go", "package main\n\nfunc main() { println(\"changed\") }\n")
	build := baselinebuild.Build{Commit: commit}
	base, err := findBaselineServer(t.Context(), build, io.Discard)
	require.NoError(t, err)
	said, err := exec.CommandContext(t.Context(), base.path).CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, "first\n", string(said))

	require.NoError(t, os.WriteFile(base.path, []byte("kept"), 0o600))
	again, err := findBaselineServer(t.Context(), build, io.Discard)
	require.NoError(t, err)
	content, err := os.ReadFile(again.path)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(content), "it is not built again")
}

// A shallow clone fetches the commit. A clone that cannot fetch returns an error.
func TestTheBaselineBuildOfAShallowClone(t *testing.T) {
	root, commit := sourceRepository(t)
	write(t, "engine/cmd/queued/main.go", "package main\n\nfunc main() { println(\"second\") }\n")
	gitIn(t, root, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--all", "--message", "second")
	gitIn(t, root, "config", "uploadpack.allowAnySHA1InWant", "true")
	clone := filepath.Join(t.TempDir(), "clone")
	gitIn(t, root, "clone", "--quiet", "--depth", "1", "file://"+root, clone)
	t.Chdir(clone)
	base, err := findBaselineServer(t.Context(), baselinebuild.Build{Commit: commit}, io.Discard)
	require.NoError(t, err)
	assert.FileExists(t, base.path)

	_, err = findBaselineServer(t.Context(), baselinebuild.Build{Commit: strings.Repeat("1", 40)}, io.Discard)
	require.ErrorContains(t, err, "the repository lacks baseline build 1111111 and cannot fetch it")
}

func TestTheCacheOfBaselineBuildsIsBounded(t *testing.T) {
	folder := t.TempDir()
	for i := range baselineServersKept + 2 {
		path := filepath.Join(folder, fmt.Sprint(i))
		require.NoError(t, os.Mkdir(path, 0o700))
		used := time.Unix(int64(1000+i), 0)
		require.NoError(t, os.Chtimes(path, used, used))
	}
	require.NoError(t, pruneCache(folder))
	assert.NoDirExists(t, filepath.Join(folder, "1"))
	assert.DirExists(t, filepath.Join(folder, "2"))
}

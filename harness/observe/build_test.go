package observe

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkout makes a git repository with one commit and returns its folder and the commit.
func checkout(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty", "-m", "one"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	commit, err := git(dir, "rev-parse", "HEAD")
	require.NoError(t, err)
	require.Len(t, commit, 40)
	return dir, commit
}

func TestBuildReadsTheCheckoutOfTheWorkingDirectory(t *testing.T) {
	dir, commit := checkout(t)
	t.Chdir(dir)
	binary := filepath.Join(t.TempDir(), "queued")
	require.NoError(t, os.WriteFile(binary, []byte("not a binary"), 0o600))
	sum := sha256.Sum256([]byte("not a binary"))

	build := Build(binary)
	assert.Equal(t, runtime.Version(), build.GoVersion)
	assert.Equal(t, hex.EncodeToString(sum[:]), build.Server)
	assert.Equal(t, commit, build.Commit)
	assert.False(t, build.Dirty)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), nil, 0o600))
	assert.True(t, Build(binary).Dirty)
}

func TestBuildOutsideOfACheckoutIsUnknown(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	t.Chdir(t.TempDir())
	build := Build("missing")
	assert.Equal(t, unknown, build.Commit)
	assert.True(t, build.Dirty, "its commit is unknown")
	assert.Equal(t, unknown, build.Server)
	assert.NotEmpty(t, build.GoVersion)
}

func TestCheckoutWithoutACommitIsUnknown(t *testing.T) {
	dir := t.TempDir()
	_, err := git(dir, "init", "--quiet")
	require.NoError(t, err)
	_, _, ok := checkedOutCommit(dir)
	assert.False(t, ok)
}

func TestStampedCommit(t *testing.T) {
	stamp := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	commit, dirty, ok := stampedCommit(stamp("vcs", "git", "vcs.revision", "abc", "vcs.modified", "false"))
	assert.Equal(t, "abc", commit)
	assert.False(t, dirty)
	assert.True(t, ok)
	_, dirty, ok = stampedCommit(stamp("vcs.revision", "abc", "vcs.modified", "true"))
	assert.True(t, dirty)
	assert.True(t, ok)
	_, dirty, ok = stampedCommit(stamp("vcs.revision", "abc"))
	assert.True(t, dirty, "clean only when it was recorded")
	assert.True(t, ok)
	_, _, ok = stampedCommit(stamp("-race", "true"))
	assert.False(t, ok)
}

// The server's commit counts, and changes in the tree of the load generator's program do too.
func TestStampedCommits(t *testing.T) {
	stamp := func(revision, modified string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		if revision != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
		}
		return info
	}
	for name, test := range map[string]struct {
		stamps []*debug.BuildInfo
		commit string
		dirty  bool
		ok     bool
	}{
		"both are clean":         {[]*debug.BuildInfo{stamp("a", "false"), stamp("b", "false")}, "a", false, true},
		"the server is not":      {[]*debug.BuildInfo{stamp("a", "true"), stamp("b", "false")}, "a", true, true},
		"the generator is not":   {[]*debug.BuildInfo{stamp("a", "false"), stamp("a", "true")}, "a", true, true},
		"the server has none":    {[]*debug.BuildInfo{stamp("", ""), stamp("b", "false")}, "b", false, true},
		"the generator has none": {[]*debug.BuildInfo{stamp("a", "false"), stamp("", "")}, "a", false, true},
		"neither has any":        {[]*debug.BuildInfo{stamp("", ""), stamp("", "")}, "", false, false},
	} {
		commit, dirty, ok := stampedCommits(test.stamps)
		assert.Equal(t, test.commit, commit, name)
		assert.Equal(t, test.dirty, dirty, name)
		assert.Equal(t, test.ok, ok, name)
	}
}

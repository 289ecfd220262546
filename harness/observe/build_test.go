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

	"github.com/pronybench/prony/harness/result"
)

// checkout creates a git repository with one commit and returns its folder and the commit.
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
	assert.Equal(t, result.CommitUnknown, build.Commit, "a binary without a stamp does not count as the checked-out commit")
	assert.True(t, build.Dirty)

	goProgram, err := os.Executable()
	require.NoError(t, err)
	build = Build(goProgram)
	assert.Equal(t, result.CommitUnknown, build.Commit, "a Go program without a stamp does not count as the checked-out commit")
	assert.True(t, build.Dirty)

	own := Harness()
	assert.Equal(t, commit, own.Commit, "test binaries have no stamp")
	assert.False(t, own.Dirty)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), nil, 0o600))
	assert.True(t, Harness().Dirty)
}

// Pages of a checkout describe its engine, so a server built from a commit with another engine
// counts as dirty.
func TestEngineCheckedOut(t *testing.T) {
	dir, first := checkout(t)
	commit := func(file string) string {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
		for _, args := range [][]string{{"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "-m", file}} {
			_, err := git(dir, args...)
			require.NoError(t, err)
		}
		head, err := git(dir, "rev-parse", "HEAD")
		require.NoError(t, err)
		return head
	}
	assert.True(t, engineCheckedOut(dir, "abc"), "the checkout is of another project")
	engine := commit("engine/cmd/queued/main.go")
	assert.True(t, engineCheckedOut(dir, engine))
	assert.False(t, engineCheckedOut(dir, first))
	assert.False(t, engineCheckedOut(dir, "0123456789012345678901234567890123456789"), "the checkout lacks the commit")
	page := commit("reports/page.md")
	assert.True(t, engineCheckedOut(dir, engine), "only a page has changed since")
	changed := commit("engine/queue.go")
	assert.True(t, engineCheckedOut(dir, changed))
	assert.False(t, engineCheckedOut(dir, page))
	assert.True(t, engineCheckedOut(t.TempDir(), first))
}

func TestCommitOfAServer(t *testing.T) {
	stamp := func(revision, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}}
	}
	dir, commit := checkout(t)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "engine/cmd/queued"), 0o700))
	elsewhere := t.TempDir()
	for name, test := range map[string]struct {
		server, own *debug.BuildInfo
		dir         string
		commit      string
		dirty       bool
	}{
		"both are clean":            {stamp(commit, "false"), stamp("b", "false"), dir, commit, false},
		"the server is changed":     {stamp(commit, "true"), stamp("b", "false"), dir, commit, true},
		"the generator is changed":  {stamp(commit, "false"), stamp("b", "true"), dir, commit, true},
		"the generator has none":    {stamp(commit, "false"), nil, dir, commit, false},
		"the server has none":       {&debug.BuildInfo{}, stamp(commit, "false"), dir, result.CommitUnknown, true},
		"another engine":            {stamp("0123456789", "false"), nil, dir, "0123456789", true},
		"outside of Prony's source": {stamp("0123456789", "false"), nil, elsewhere, "0123456789", false},
	} {
		got, dirty := commitOfServer(test.server, test.own, test.dir)
		assert.Equal(t, test.commit, got, name)
		assert.Equal(t, test.dirty, dirty, name)
	}
}

func TestBuildOutsideOfACheckoutIsUnknown(t *testing.T) {
	t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
	t.Chdir(t.TempDir())
	build := Build("missing")
	assert.Equal(t, unknown, build.Commit)
	assert.True(t, build.Dirty, "the commit is unknown")
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
	assert.True(t, dirty, "a tree is clean only if the stamp records it")
	assert.True(t, ok)
	_, _, ok = stampedCommit(stamp("-race", "true"))
	assert.False(t, ok)
}

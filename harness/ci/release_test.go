package ci_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
)

// The modules of a release, and the version in the tests. The version never leaves the folders of a
// test.
var releasedModules = []string{"engine", "harness", "harness/k6", "harness/peers"}

const released = "v0.9.0-test.1"

// modulePath is the common prefix of all module paths.
const modulePath = "github.com/pronybench/prony/"

// checkout is a clone of this repository at the last commit. It omits the published pages and their
// data, which are most of the repository's bytes and which no script of ci/ with a checkout reads.
type checkout struct {
	*testing.T

	dir string
}

func clone(t *testing.T, of string) checkout {
	t.Helper()
	c := checkout{t, filepath.Join(t.TempDir(), "prony")}
	out, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--no-checkout", of, c.dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	c.git("sparse-checkout", "set", "--no-cone", "/*", "!/reports/")
	c.git("checkout", "--quiet")
	return c
}

// try runs a program in the checkout with additional environment variables, and returns its output.
func (c checkout) try(env []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(c.Context(), name, args...)
	command.Dir = c.dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	command.Env = append(command.Env, env...)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// must runs a program that must succeed.
func (c checkout) must(env []string, name string, args ...string) string {
	c.Helper()
	out, err := c.try(env, name, args...)
	require.NoError(c, err, "%s %v: %s", name, args, out)
	return out
}

// git runs a git command.
func (c checkout) git(args ...string) string {
	c.Helper()
	return c.must(nil, "git", args...)
}

// refuses runs a script that must fail, and compares its message.
func (c checkout) refuses(s *golden.Sheet, name, script string, args ...string) {
	c.Helper()
	out, err := c.try(nil, filepath.Join(c.dir, "ci", script), args...)
	require.Error(c, err, "%s %v: %s", script, args, out)
	out = downloads.ReplaceAllString(strings.ReplaceAll(out, c.dir, "CHECKOUT"), "")
	s.Equal(c, name, madeFolder.ReplaceAllString(out, "TEMPORARY"))
}

// downloads matches what the go command prints while the module cache is not complete.
var downloads = regexp.MustCompile(`(?m)^go: downloading .*\n?`)

// madeFolder matches a folder that a script made with mktemp.
var madeFolder = regexp.MustCompile(`/\S*/tmp\.\w+`)

// file returns a file of the checkout.
func (c checkout) file(path string) string {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, path))
	require.NoError(c, err)
	return string(text)
}

func TestReleaseRefuses(t *testing.T) {
	c := clone(t, "../..")
	s := golden.Cases(t, "testdata/release.golden")
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3+linux", "v2.0.0", "v0.0.0-20261125000000-0123456789ab"} {
		c.refuses(s, fmt.Sprintf("version %q", version), "release", version)
	}
	c.refuses(s, "no version", "release")
	c.refuses(s, "two versions", "release", released, released)
	for _, module := range releasedModules {
		c.git("tag", module+"/"+released)
		c.refuses(s, "a tag of "+module, "release", released)
		c.git("tag", "--delete", module+"/"+released)
	}
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "new.txt"), nil, 0o600))
	c.refuses(s, "a changed checkout", "release", released)
	require.NoError(t, os.Remove(filepath.Join(c.dir, "new.txt")))
	text := c.file("engine/go.mod")
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "engine/go.mod"), []byte(text+"\nreplace example.com/a => ../a\n"), 0o600))
	c.git("commit", "--quiet", "--all", "-m", "Replace another module")
	c.refuses(s, "a replaced module", "release", released)
	assert.Empty(t, c.git("tag", "--list", "*"+released), "a failed release leaves no tag")
	assert.Len(t, strings.Split(c.git("worktree", "list"), "\n"), 1)
}

// TestReleaseTagsModulesThatNeedNoReplacement makes a release, and compares its sums with those
// that the go command computes from the tags.
func TestReleaseTagsModulesThatNeedNoReplacement(t *testing.T) {
	c := clone(t, "../..")
	head := c.git("rev-parse", "HEAD")
	out := c.must(nil, filepath.Join(c.dir, "ci/release"), released)
	assert.Contains(t, out, "Nothing was pushed")
	assert.Contains(t, out, "git push --atomic REMOTE engine/"+released+" harness/"+released+" harness/k6/"+released+" harness/peers/"+released)
	assert.Equal(t, head, c.git("rev-parse", "HEAD"), "the branch does not move")
	assert.Empty(t, c.git("status", "--porcelain"))
	assert.Len(t, strings.Split(c.git("worktree", "list"), "\n"), 1)

	commit := c.git("rev-parse", "engine/"+released+"^{commit}")
	assert.Equal(t, head, c.git("rev-parse", commit+"^"))
	changed := strings.Fields(c.git("diff", "--name-only", head, commit))
	assert.Subset(t, []string{"harness/go.mod", "harness/go.sum", "harness/k6/go.mod", "harness/k6/go.sum", "harness/peers/go.mod", "harness/peers/go.sum"}, changed)
	c.git("checkout", "--quiet", commit)
	// The go command reads the repository from here as if it were at its public location.
	env := append(goEnvironment(t, t.TempDir(), t.TempDir(), "direct"), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+c.dir+".insteadOf",
		"GIT_CONFIG_VALUE_0=https://"+strings.TrimSuffix(modulePath, "/"))
	outside := checkout{t, t.TempDir()}
	own := regexp.MustCompile(regexp.QuoteMeta(modulePath) + `\S+ .*`)
	for i, module := range releasedModules {
		assert.Equal(t, commit, c.git("rev-parse", module+"/"+released+"^{commit}"))
		mod := c.file(module + "/go.mod")
		assert.NotContains(t, mod, "replace")
		var got struct{ Sum, GoModSum string }
		text := outside.must(env, "go", "mod", "download", "-json", modulePath+module+"@"+released)
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		for _, above := range releasedModules[i+1:] {
			if module == "harness/k6" { // no module depends on it
				continue
			}
			sums := own.FindAllString(c.file(above+"/go.sum"), -1)
			assert.Contains(t, sums, modulePath+module+" "+released+" "+got.Sum)
			assert.Contains(t, sums, modulePath+module+" "+released+"/go.mod "+got.GoModSum)
			assert.Contains(t, own.FindAllString(c.file(above+"/go.mod"), -1), modulePath+module+" "+released)
		}
	}
	c.git("checkout", "--quiet", "-")
	c.refuses(golden.Cases(t, "testdata/released.golden"), "the tags exist", "release", released)
}

// goEnvironment returns the environment of a go command with an empty home, the given module cache
// and the given module proxies. The build cache is shared.
func goEnvironment(t *testing.T, home, modules, proxies string) []string {
	t.Helper()
	return []string{
		"HOME=" + home, "GOPATH=" + filepath.Join(home, "go"), "GOBIN=" + filepath.Join(home, "bin"), "GOCACHE=" + goSetting(t, "GOCACHE"),
		"GOMODCACHE=" + modules, "GOPROXY=" + proxies, "GOSUMDB=off", "GOENV=off", "GOWORK=off", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local",
	}
}

// goSetting returns a setting of the go command on this host.
func goSetting(t *testing.T, name string) string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// forget removes a version of this repository's modules from a module cache, and its lists of
// versions.
func forget(t *testing.T, modules, version string) {
	t.Helper()
	for _, module := range releasedModules {
		downloads := filepath.Join(modules, "cache/download", modulePath+module, "@v")
		found, err := filepath.Glob(filepath.Join(downloads, version+".*"))
		require.NoError(t, err)
		for _, path := range append(found, filepath.Join(downloads, "list"), filepath.Join(modules, modulePath+module+"@"+version)) {
			require.NoError(t, os.RemoveAll(path))
		}
	}
}

// TestReleaseInstalls installs the programs of a release from a module proxy, as users do, and uses
// the client in another module.
func TestReleaseInstalls(t *testing.T) {
	longtest.Only(t)
	// The module cache is that of this host, which has the modules of others. The version is new,
	// so the cache has nothing from an earlier test.
	version := fmt.Sprint("v0.9.0-test.", time.Now().UnixNano())
	modules, proxy, home := goSetting(t, "GOMODCACHE"), t.TempDir(), t.TempDir()
	t.Cleanup(func() { forget(t, modules, version) })
	c := clone(t, "../..")
	c.must(nil, filepath.Join(c.dir, "ci/release"), version)
	tools := checkout{t, filepath.Join(c.dir, "ci/tools")}
	tools.must([]string{"GOWORK=off"}, "go", "run", "./release", "proxy", c.dir, version, proxy)
	env := goEnvironment(t, home, modules, "file://"+proxy+","+goSetting(t, "GOPROXY"))
	outside := checkout{t, t.TempDir()}
	for _, program := range []string{"engine/cmd/queued", "harness/cmd/prony", "harness/k6/cmd/k6", "harness/peers/cmd/prony-peers"} {
		outside.must(env, "go", "install", modulePath+program+"@"+version)
		out := outside.must(env, filepath.Join(home, "bin", filepath.Base(program)), "version")
		t.Logf("%s version:\n%s", filepath.Base(program), out)
		assert.Contains(t, out, version)
	}

	// The engine README's instructions for a user's module.
	readme := c.file("engine/README.md")
	_, program, found := strings.Cut(readme, "\n```go\n")
	require.True(t, found)
	program, _, _ = strings.Cut(program, "\n```\n")
	require.Contains(t, readme, "\ngo get github.com/pronybench/prony/engine/client@latest\n")
	outside.must(env, "go", "mod", "init", "example.com/mail")
	outside.must(env, "go", "get", modulePath+"engine/client@latest")
	require.NoError(t, os.WriteFile(filepath.Join(outside.dir, "main.go"), []byte(program), 0o600))
	outside.must(env, "go", "build", "-o", "mail", ".")
	assert.Contains(t, outside.must(env, "go", "version", "-m", "mail"), modulePath+"engine\t"+version)

	// Before a release: a checkout instead.
	require.Contains(t, readme, "\ngo mod edit -replace github.com/pronybench/prony/engine=../prony/engine\ngo mod tidy\n")
	instead := checkout{t, filepath.Join(filepath.Dir(c.dir), "mail")}
	require.NoError(t, os.Mkdir(instead.dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(instead.dir, "main.go"), []byte(program), 0o600))
	instead.must(env, "go", "mod", "init", "example.com/mail")
	instead.must(env, "go", "mod", "edit", "-replace", modulePath+"engine=../prony/engine")
	instead.must(env, "go", "mod", "tidy")
	instead.must(env, "go", "build", "-o", "mail", ".")
}

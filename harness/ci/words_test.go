package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The check counts phrases in the text of added lines only: not in old lines, code, tables or
// generated files.
func TestWordsOfAddedLines(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "words")
	build := exec.Command("go", "build", "-o", tool, "./words")
	build.Dir = "../../ci/tools"
	build.Env = append(os.Environ(), "GOWORK=off")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	dir := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		output, err := c.CombinedOutput()
		return string(output), err
	}
	git := func(args ...string) {
		output, err := run("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		require.NoError(t, err, output)
	}
	write := func(file, text string) {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	commit := func() {
		git("add", ".")
		git("commit", "--quiet", "--message", "a")
	}
	const dialect = "Whoever comes is let in, besides somebody.\n"
	git("init", "--quiet")
	write("old.md", dialect)
	commit()
	write("old.md", dialect+"A plain sentence.\n")
	write("table.md", "| "+dialect)
	write("q.pb.go", "// "+dialect)
	write("code.go", "package a\n\nvar besides, whoever = 1, \"somebody\"\n")
	commit()
	output2, err := run(tool)
	require.NoError(t, err, output2)
	assert.Contains(t, output2, "words: 0 phrases in 3 words added since ")

	write("code.go", "package a\n\n// "+dialect)
	output2, err = run(tool)
	assert.Error(t, err, "uncommitted lines count too")
	assert.Contains(t, output2, `code.go:3: "Whoever": name who: the caller, no client`)
	assert.Contains(t, output2, "4 phrases in 10 words added since ")

	write("code.go", "package a\n\n// "+dialect+"// "+strings.Repeat("word ", 3000)+"\n")
	output2, err = run(tool)
	assert.NoError(t, err, "a small rate is allowed: %s", output2)
	_, err = run(tool, "no-such-commit")
	assert.Error(t, err)
}

package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestReportLint(t *testing.T) {
	inRepository(t, "README.md", "It is robust.\n", "docs/a.md", "See [b](b.md).\n", "docs/b.md", "`x` does 5 cycles/s.\n",
		"testdata/golden.md", "It is robust.\n", ".hidden/a.md", "It is robust.\n", "reports/scenarios/made-up.md", "5 tasks\n")
	write(t, "runs/latest/report.md", "It is robust.\n")
	ran := prony(t, "report", "lint")
	assert.Equal(t, result.Regressed.ExitCode(), ran.code, ran.stderr)
	assert.Equal(t, `README.md:1: praise: "robust" stands without a figure in its sentence "It is robust.": give the figure, or leave the word out
reports/scenarios/made-up.md:1: provenance: the page has no data that it was made from: publish it with prony report --publish, so that reports/data/made-up has it, or remove the page
lint: 4 files, 2 findings, 0 warnings
`, ran.stdout)

	ran = prony(t, "report", "lint", "--json", "README.md")
	assert.Equal(t, result.Regressed.ExitCode(), ran.code)
	var found linted
	require.NoError(t, json.Unmarshal([]byte(ran.stdout), &found))
	assert.Equal(t, result.Regressed, found.Verdict)
	assert.Equal(t, 1, found.Files)
	require.Len(t, found.Findings, 2)
	assert.Equal(t, "README.md", found.Findings[0].File)

	ran = prony(t, "report", "lint", "--reports", "none", "docs")
	assert.Equal(t, 0, ran.code, ran.stderr)
	assert.Equal(t, "lint: 2 files, 0 findings, 0 warnings\n", ran.stdout)

	ran = prony(t, "report", "lint", "nowhere")
	assert.Equal(t, result.Misconfigured.ExitCode(), ran.code)
	assert.Contains(t, ran.stderr, "look for Markdown files in nowhere")
}

// A page is stale by the commits to what is measured since its own.
func TestReportLintWarnsOfStalePages(t *testing.T) {
	inRepository(t, "engine/code.go", "package engine\n", "reports/scenarios/tiny.md", "5 tasks\n")
	head, err := git(t.Context(), ".", "rev-parse", "HEAD")
	require.NoError(t, err)
	dir := stored(t, t.TempDir(), "a-run", func(r *result.Result) { r.Manifest.Build.Commit = head })
	require.NoError(t, os.CopyFS("reports/data/tiny", os.DirFS(dir)))
	n, err := commitsBehind(t.Context(), head)
	require.NoError(t, err)
	assert.Equal(t, 0, n)
	for _, text := range []string{"1", "2", "3"} {
		write(t, "engine/README.md", text)
		write(t, "engine/code_test.go", "package engine // "+text)
		commitAll(t)
		write(t, "engine/code.go", "package engine // "+text)
		commitAll(t)
	}
	n, err = commitsBehind(t.Context(), head)
	require.NoError(t, err)
	assert.Equal(t, 3, n, "tests and documents are not measured")
	commit, err := measuredCommit("reports/data/tiny")
	require.NoError(t, err)
	assert.Equal(t, head, commit)

	write(t, "reports/data/tiny/result.json", "{}")
	ran := prony(t, "report", "lint")
	assert.Equal(t, result.Misconfigured.ExitCode(), ran.code, "damaged data is no warning")
}

func TestAPageOfAnUnknownCommitIsAWarning(t *testing.T) {
	inRepository(t, "reports/scenarios/tiny.md", "5 tasks\n")
	dir := stored(t, t.TempDir(), "a-run", func(r *result.Result) { r.Manifest.Build.Commit = "0123456789abcdef" })
	require.NoError(t, os.CopyFS("reports/data/tiny", os.DirFS(dir)))
	ran := prony(t, "report", "lint")
	assert.Equal(t, 0, ran.code, ran.stderr)
	assert.Contains(t, ran.stdout, "reports/scenarios:1: stale: 1 page measured a commit that this repository does not have: measure again: tiny (0123456789ab) (a warning)\n")
	assert.Contains(t, ran.stdout, "0 findings, 1 warning\n")
}

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
		"testdata/golden.md", "It is robust.\n", ".hidden/a.md", "It is robust.\n", "reports/made-up.md", "5 tasks\n")
	write(t, "runs/latest/report.md", "It is robust.\n")
	ran := prony(t, "report", "lint")
	assert.Equal(t, result.Regressed.ExitCode(), ran.code, ran.stderr)
	s := sheet(t)
	s.Equal(t, "all files", ran.stdout)

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
	s.Equal(t, "a sound folder", ran.stdout)
	mistake(t, s, "report", "lint", "nowhere")
}

// The staleness of a page is the number of later commits to measured files.
func TestReportLintWarnsOfStalePages(t *testing.T) {
	inRepository(t, "engine/code.go", "package engine\n")
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
	assert.Equal(t, result.Misconfigured.ExitCode(), ran.code, "damaged data is an error")
}

func TestARunOfAnUnknownCommitIsAWarning(t *testing.T) {
	inRepository(t)
	dir := stored(t, t.TempDir(), "a-run", func(r *result.Result) { r.Manifest.Build.Commit = "0123456789abcdef" })
	require.NoError(t, os.CopyFS("reports/data/tiny", os.DirFS(dir)))
	ran := prony(t, "report", "lint")
	assert.Equal(t, 0, ran.code, ran.stdout+ran.stderr)
	sheet(t).Equal(t, "an unknown commit", ran.stdout)
}

// The sources of pages are not documents: a hand-typed figure in a source is a finding, and so is a
// page that differs from its source's output.
func TestReportLintOfSources(t *testing.T) {
	inRepository(t, "reports/pages/pages.hcl", `group "All" {
  page "one" { title = "One" }
}
`, "reports/pages/one.md", "## Question\n\nIs it 5 ms, see [there](scenarios/no.md)?\n", "reports/pages/README.md", "It is robust.\n", "reports/data/none", "")
	ran := prony(t, "report", "lint")
	assert.Equal(t, result.Regressed.ExitCode(), ran.code, ran.stderr)
	s := sheet(t)
	s.Equal(t, "findings", ran.stdout)

	mistake(t, s, "report", "set")
	assert.NoFileExists(t, "reports/one.md")
	ran = prony(t, "report", "set", "--json")
	s.Equal(t, "set, as JSON", ran.document(t).Error)
}

// The written pages have no findings, and a page that was changed by hand has one.
func TestReportSet(t *testing.T) {
	inRepository(t, "reports/pages/pages.hcl", "", "reports/data/none", "", "reports/experiments.md", "# Experiments\n", "reports/experiments.hcl", "")
	ran := prony(t, "report", "set")
	require.Equal(t, 0, ran.code, ran.stderr)
	assert.Equal(t, "reports/README.md\n", ran.stdout)
	index, err := os.ReadFile("reports/README.md")
	require.NoError(t, err)
	sheet(t).Equal(t, "index", string(index))
	ran = prony(t, "report", "set", "--json")
	require.Equal(t, 0, ran.code, ran.stderr)
	assert.Equal(t, []result.Page{{Of: "reports/pages", Page: "reports/README.md", Files: []string{}}}, ran.document(t).Pages)
}

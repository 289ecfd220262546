package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// prony run makes the link runs/latest, so every command accepts a link instead of a folder.
func TestFoldersMayBeNamedByLinks(t *testing.T) {
	scenarios, err := filepath.Abs("testdata/language/many")
	require.NoError(t, err)
	inFolder(t)
	run := stored(t, "runs", "one", nil)
	require.Equal(t, 0, prony(t, "report", run).code)
	latest := filepath.Join("runs", result.LatestLink)
	require.FileExists(t, filepath.Join(latest, "report.md"))

	got := prony(t, "report", "--html", "run.html", latest)
	require.Equal(t, 0, got.code, got.stderr)
	text, err := os.ReadFile("run.html")
	require.NoError(t, err)
	assert.Contains(t, string(text), "<title>Tiny</title>")

	viewing(t, func(url string) { assert.Equal(t, string(text), fetched(t, url)) }, latest)

	require.NoError(t, os.Symlink(scenarios, "linked"))
	got = prony(t, "list", "--json", "linked")
	require.Equal(t, 0, got.code, got.stderr)
	var l listing
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &l))
	require.Len(t, l.Scenarios, 3)
	assert.Equal(t, "linked/first.hcl", l.Scenarios[1].File, "the path has the given name")

	write(t, "docs/a.md", "It is robust.\n")
	require.NoError(t, os.Symlink("docs", "pages"))
	got = prony(t, "report", "lint", "--reports", "none", "pages")
	assert.Equal(t, result.Regressed.ExitCode(), got.code, got.stderr)
	assert.Contains(t, got.stdout, "pages/a.md:1: praise")
}

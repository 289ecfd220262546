package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

func TestReportHTML(t *testing.T) {
	inFolder(t)
	write(t, "reports/README.md", "# All pages\n\n[One](s/one.md)\n")
	write(t, "reports/s/one.md", "# One\n\n| a |\n|--:|\n| 1 |\n")

	got := prony(t, "report", "--html", "all.html")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "all.html\n", got.stdout)
	text, err := os.ReadFile("all.html")
	require.NoError(t, err)
	assert.Contains(t, string(text), `<a href="#page/s/one">One</a>`)

	run := stored(t, "runs", "one", nil)
	require.Equal(t, 0, prony(t, "report", run).code)
	document := prony(t, "report", "--json", "--html", "run.html", run).document(t)
	assert.Equal(t, result.Pass, document.Verdict)
	assert.Equal(t, []result.Page{{Of: run, Page: "run.html"}}, document.Pages)
	assert.FileExists(t, "run.html")
}

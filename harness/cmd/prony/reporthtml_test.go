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
	text, err = os.ReadFile("run.html")
	require.NoError(t, err)
	assert.Contains(t, string(text), "<title>Tiny</title>")
}

func TestReportHTMLIsRefused(t *testing.T) {
	inFolder(t)
	write(t, "reports/a.md", "# A\n")
	write(t, "empty/x.txt", "")
	for want, args := range map[string][]string{
		"--html writes the pages of one folder, but got 2":     {"--html", "x.html", "reports", "empty"},
		`--html "reports" is a folder: give the file to write`: {"--html", "reports"},
		"there is no Markdown page in empty":                   {"--html", "x.html", "empty"},
		"no such file or directory":                            {"--html", "x.html", "none"},
		"--publish and --html exclude each other":              {"--publish", "reports", "--html", "x.html"},
	} {
		got := prony(t, append([]string{"report"}, args...)...)
		assert.Equal(t, 2, got.code, args)
		assert.Contains(t, got.stderr, want)
		assert.NoFileExists(t, "x.html")
	}
}

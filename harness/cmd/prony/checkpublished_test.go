package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// indexRow matches the row of a scenario in the index of the pages.
var indexRow = regexp.MustCompile("(?m)^\\| \\[`([^`]+)`\\]\\(([^)]+)\\) \\|.*\\| \\**([a-z]+)\\** \\| [^|]+ \\|$")

// disagreeing lists the published results below the working directory whose verdict in the index
// differs from that of prony check.
func disagreeing(t *testing.T) (all []string) {
	t.Helper()
	folders, err := filepath.Glob("reports/data/*")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	checked := map[string]string{}
	for _, o := range prony(t, append([]string{"check", "--json"}, folders...)...).document(t).Scenarios {
		checked[filepath.Base(o.Run)] = string(o.Verdict)
	}
	require.Len(t, checked, len(folders))
	index, err := os.ReadFile("reports/README.md")
	require.NoError(t, err)
	rows := indexRow.FindAllStringSubmatch(string(index), -1)
	require.Len(t, rows, len(folders))
	for _, row := range rows {
		name, page, verdict := row[1], row[2], row[3]
		if verdict != checked[name] {
			all = append(all, fmt.Sprintf("%s is %s in the index, but %q by prony check", name, verdict, checked[name]))
		}
		if listed := strings.Contains(string(index), fmt.Sprintf("\n- [`%s`](%s): ", name, page)); listed != (checked[name] != "pass") {
			all = append(all, fmt.Sprintf("%s is %s, listed as not passing: %v", name, checked[name], listed))
		}
	}
	return all
}

// The index has the verdicts of prony check.
func TestTheIndexAgreesWithCheck(t *testing.T) {
	t.Chdir("../../..")
	assert.Empty(t, disagreeing(t), "run 'make generate': the index shows the verdict that the limits had when it was written")
}

// After a change of a limit, the verdicts disagree until the pages are rendered again.
func TestADisagreementWithCheckIsFound(t *testing.T) {
	inRepository(t, "reports/pages/pages.hcl", "")
	floor := func(min string) {
		write(t, "baselines/tiny.hcl", strings.Replace(baseline, "500", min, 1))
	}
	render := func() {
		require.Equal(t, 0, prony(t, "report", "--out", "reports/scenarios", "reports/data/tiny").code)
		got := prony(t, "report", "set")
		require.Equal(t, 0, got.code, got.stderr)
	}
	floor("500")
	require.Equal(t, 0, prony(t, "report", "--publish", "reports", recordedRun(t, 1, nil)).code)
	render()
	assert.Empty(t, disagreeing(t))
	floor("5000")
	assert.Equal(t, []string{
		`tiny is pass in the index, but "regressed" by prony check`, "tiny is regressed, listed as not passing: false",
	}, disagreeing(t))
	lint := prony(t, "report", "lint", "reports")
	assert.Equal(t, 1, lint.code)
	assert.Contains(t, lint.stdout, "reports/README.md:9: generated: ")
	render()
	assert.Empty(t, disagreeing(t))
}

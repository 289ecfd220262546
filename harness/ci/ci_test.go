package ci_test

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

func red() ci.Judgement {
	return ci.OfCheck(gate.Report{
		Scenario: "tiny", Verdict: result.Regressed,
		Reasons: []string{"cycles_per_s 5 is below the floor 10: 100%\nbroken", "the host was busy"},
		Findings: []gate.Finding{
			{Metric: "cycles_per_s", Kind: gate.Floor, Judged: true, Sentence: "cycles_per_s 5 is below the floor 10: 100%\nbroken"},
			{Metric: "cpu", Point: "p", Kind: gate.Ceiling, Judged: true, OK: true, Sentence: "cpu holds"},
			{Metric: "decay", Kind: gate.Ceiling, Judged: true, Inconclusive: true, Sentence: "decay is unclear"},
			{Metric: "rss", Kind: gate.Ceiling, Sentence: "rss is not judged"},
		},
	})
}

func compared(verdict result.Verdict, outcome result.Outcomes) ci.Judgement {
	return ci.OfComparison(&result.Comparison{Scenario: "tiny", Verdict: verdict, Metrics: []result.MetricDelta{
		{Metric: "cycles_per_s", Outcome: outcome, Because: "the rate is what it is"},
	}})
}

func TestAnnotations(t *testing.T) {
	assert.Equal(t, []string{
		"::error title=prony check%3A tiny%3A regressed::cycles_per_s 5 is below the floor 10: 100%25%0Abroken",
		"::error title=prony check%3A tiny%3A regressed::the host was busy",
		"::warning title=prony check%3A tiny%3A regressed::decay is unclear",
	}, ci.Annotations([]ci.Judgement{red()}))
	assert.Empty(t, ci.Annotations([]ci.Judgement{compared(result.Pass, result.Same)}))
}

func TestAnnotationsAreTenAtMost(t *testing.T) {
	j := ci.Judgement{Kind: "check", Verdict: result.Regressed}
	for i := range 10 {
		j.Cases = append(j.Cases, ci.Case{Outcome: ci.Failed, Sentence: fmt.Sprint("number ", i)})
	}
	s := golden.Cases(t, "testdata/annotations.golden")
	lines := ci.Annotations([]ci.Judgement{j})
	require.Len(t, lines, 10)
	s.Equal(t, "ten errors", strings.Join(lines, "\n"))
	lines = ci.Annotations([]ci.Judgement{{Cases: []ci.Case{{Outcome: ci.Unclear}}}, j})
	require.Len(t, lines, 10)
	s.Equal(t, "a warning and ten errors", strings.Join(lines, "\n"))
}

func TestSummaryIsCutAtItsLimit(t *testing.T) {
	s := golden.Cases(t, "testdata/summary.golden")
	s.Equal(t, "a short text", ci.Summary([]ci.Judgement{red()}))

	j := ci.Judgement{Kind: "check", Scenario: "big", Text: strings.Repeat("a line of é text\n", 100_000)}
	long := ci.Summary([]ci.Judgement{j})
	assert.LessOrEqual(t, len(long), ci.SummaryMax)
	assert.Greater(t, len(long), ci.SummaryMax-1024)
	s.Equal(t, "a complete line, and the end of the block", long[strings.LastIndex(long, "a line of é text"):])

	j.Text = "```\nx"
	s.Equal(t, "the text cannot end its block", ci.Summary([]ci.Judgement{j}))
}

func TestJUnit(t *testing.T) {
	data, err := ci.JUnit([]ci.Judgement{red(), compared(result.Invalid, result.Same)})
	require.NoError(t, err)
	var report struct {
		Suites []struct {
			Name     string `xml:"name,attr"`
			Tests    int    `xml:"tests,attr"`
			Failures int    `xml:"failures,attr"`
			Skipped  int    `xml:"skipped,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(data, &report))
	require.Len(t, report.Suites, 2)
	first := report.Suites[0]
	assert.Equal(t, "prony check tiny", first.Name)
	assert.Equal(t, []int{5, 2, 2}, []int{first.Tests, first.Failures, first.Skipped})
	var names []string
	for _, c := range first.Cases {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"verdict", "cycles_per_s floor", "p: cpu ceiling", "decay ceiling", "rss ceiling"}, names)
	assert.NotNil(t, first.Cases[1].Failure)
	assert.NotNil(t, first.Cases[3].Skipped)
	assert.Equal(t, 1, report.Suites[1].Failures, "an invalid comparison is not green")
}

func TestCommentOfANeutralVerdictIsMarked(t *testing.T) {
	for _, c := range []struct {
		verdict result.Verdict
		outcome result.Outcomes
		neutral bool
	}{
		{result.Pass, result.Same, true},
		{result.Inconclusive, result.Unclear, true},
		{result.Invalid, result.Improved, true},
		{result.Pass, result.Improved, false},
		{result.Regressed, result.Worsened, false},
		{result.Incorrect, result.Same, false},
		{result.Misconfigured, result.Same, false},
	} {
		comment := ci.Comment([]ci.Judgement{compared(c.verdict, c.outcome)})
		assert.True(t, strings.HasPrefix(comment, "<!-- prony comment -->\n"), comment)
		assert.Equal(t, c.neutral, strings.Contains(comment, "\n<!-- neutral -->\n"), "%v", c)
	}
	long := ci.Comment([]ci.Judgement{{Text: strings.Repeat("line\n", 30_000)}})
	assert.LessOrEqual(t, len(long), 65536)
	golden.Cases(t, "testdata/comment.golden").Equal(t, "a cut text", long[strings.LastIndex(long, "\nline\n"):])
}

func TestWrite(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	all := []ci.Judgement{red()}
	require.NoError(t, ci.Write(folder, all))
	for name, want := range map[string]string{
		"summary.md": ci.Summary(all), "comment.md": ci.Comment(all), "annotations.txt": strings.Join(ci.Annotations(all), "\n") + "\n",
	} {
		got, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
	assert.FileExists(t, filepath.Join(folder, "junit.xml"))
	assert.ErrorIs(t, ci.Write(filepath.Join(folder, "summary.md"), all), syscall.ENOTDIR)
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// moveRepository makes a repository with four commits and returns them. The second one is the
// baseline build. A branch "aside" has a fifth.
func moveRepository(t *testing.T) (commits []string) {
	t.Helper()
	inRepository(t, "scenarios/compare.hcl", tiny("tiny", "150ms", ""), "scenarios/other.hcl", tiny("other", "150ms", ""))
	for range 3 {
		commitAll(t)
	}
	for _, rev := range []string{"HEAD~3", "HEAD~2", "HEAD~1", "HEAD"} {
		commits = append(commits, revParsed(t, rev))
	}
	write(t, buildFile, fmt.Sprintf("# Kept.\nbuild %q {\n  date    = \"2026-11-28\"\n  because = \"the first\"\n}\n", commits[1]))
	inGit(t, "checkout", "--quiet", "-b", "aside")
	inGit(t, "commit", "--quiet", "--allow-empty", "--message", "aside")
	inGit(t, "checkout", "--quiet", "-")
	return commits
}

func revParsed(t *testing.T, rev string) string {
	t.Helper()
	commit, err := git(t.Context(), ".", "rev-parse", rev)
	require.NoError(t, err)
	return commit
}

func delta(metric string, ratio float64) result.MetricDelta {
	return result.MetricDelta{
		Metric: metric, Ratio: ratio, Base: result.Metric{Median: 100}, Change: result.Metric{Median: 100 * ratio}, Outcome: result.Same, Loss: &result.Loss{},
	}
}

// counted returns a counter of fixed work.
func counted(metric string, base, change float64, outcome result.Outcomes) result.MetricDelta {
	d := result.MetricDelta{Metric: metric, Ratio: 1, Base: result.Metric{Median: base}, Change: result.Metric{Median: change}, Outcome: outcome}
	if base > 0 {
		d.Ratio = change / base
	}
	return d
}

func worsened(d result.MetricDelta) result.MetricDelta {
	d.Outcome = result.Worsened
	return d
}

func comparisonOf(scenario string, verdict result.Verdict, metrics ...result.MetricDelta) *result.Comparison {
	return &result.Comparison{Version: result.Version, Scenario: scenario, Verdict: verdict, Metrics: metrics, Duet: &result.DuetJudgement{}, Reasons: []string{"as the script says"}}
}

// passes returns a passing comparison of scenario tiny with these ratios of the rate and of the
// server's CPU time.
func passes(rate, cpu float64) *result.Comparison {
	return comparisonOf("tiny", result.Pass, delta(result.CyclesPerS, rate), delta(result.ServerCPUUsPerCycle, cpu))
}

// pronyMove runs prony baseline move with scripted comparisons. The plan is nil if the command
// compared nothing.
func pronyMove(t *testing.T, script []*result.Comparison, args ...string) (got command, plan *movePlan) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := baselineMoveCommand(append([]string{"prony", "baseline", "move"}, args...), func(_ *cobra.Command, _ []string, p movePlan) ([]*result.Comparison, error) {
		plan = &p
		if script == nil {
			return nil, errors.New("the host is gone")
		}
		return script, nil
	})
	c.SetArgs(args)
	c.SetOut(&stdout)
	c.SetErr(&stderr)
	c.SilenceErrors, c.SilenceUsage = true, true
	code := 0
	if err := c.ExecuteContext(t.Context()); err != nil {
		code = result.Misconfigured.ExitCode()
		var verdict verdictError
		if errors.As(err, &verdict) {
			code = verdict.verdict.ExitCode()
		} else {
			fmt.Fprintln(&stderr, err)
		}
	}
	return command{code, stdout.String(), stderr.String()}, plan
}

// withoutCommits replaces the dates and the commits of moveRepository in a text.
func withoutCommits(text string, commits []string) string {
	for i, c := range commits {
		text = strings.NewReplacer(c, fmt.Sprintf("<commit %d>", i), render.Commit(c), fmt.Sprintf("<commit %d>", i)).Replace(text)
	}
	return regexp.MustCompile(`\d{4}-\d\d-\d\d`).ReplaceAllString(text, "<date>")
}

func movesIn(t *testing.T) *baselinebuild.File {
	t.Helper()
	f, err := baselinebuild.Read(buildFile)
	require.NoError(t, err)
	return f
}

func TestBaselineMove(t *testing.T) {
	commits := moveRepository(t)
	before, err := os.ReadFile(buildFile)
	require.NoError(t, err)
	got, plan := pronyMove(t, []*result.Comparison{
		comparisonOf("tiny", result.Pass, delta(result.CyclesPerS, 1.0123456), delta(result.ServerCPUUsPerCycle, 0.98),
			counted("commits_per_cycle", 2, 2, result.Same), counted("server_allocs_per_cycle", 1000, 1001, result.Same),
			counted("calls_per_cycle", 3, 1, result.Improved), counted("storage_gets_per_cycle", 4, 4.1, result.Expected),
			counted("storage_scanned_keys_per_cycle", 0, 5, result.Expected), counted("storage_deletes_per_cycle", 5, 0, result.Improved)),
		comparisonOf("other", result.Pass, delta(result.CyclesPerS, 1)),
	}, "HEAD", "--because", "smaller frames", "--scenario", "scenarios/compare.hcl", "--scenario", "scenarios/other.hcl", "--out", "elsewhere")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, &movePlan{base: commits[1], change: commits[3], files: []string{"scenarios/compare.hcl", "scenarios/other.hcl"}, out: "elsewhere"}, plan)
	f := movesIn(t)
	require.Len(t, f.Builds, 2)
	b := f.Current()
	assert.Equal(t, commits[3], b.Commit)
	assert.Equal(t, "smaller frames", b.Because)
	assert.GreaterOrEqual(t, b.Date, "2026-11-28")
	assert.Equal(t, []baselinebuild.Ratio{
		{Scenario: "tiny", Metric: "cycles_per_s", Value: 1.0123},
		{Scenario: "tiny", Metric: "server_cpu_us_per_cycle", Value: 0.98},
		{Scenario: "tiny", Metric: "storage_gets_per_cycle", Value: 1.025},
		{Scenario: "tiny", Metric: "calls_per_cycle", Value: 0.33333},
		{Scenario: "other", Metric: "cycles_per_s", Value: 1},
	}, b.Ratios, "equal counters, and those that are 0 in one build, have no ratio")
	after, err := os.ReadFile(buildFile)
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(after, before))
	sheet(t).Equal(t, "a move", withoutCommits(got.stderr, commits))
	assert.Empty(t, got.stdout)

	// The target may also be an ancestor, or an earlier baseline build.
	got, plan = pronyMove(t, []*result.Comparison{passes(1, 1)}, "HEAD~2", "--because", "back", "--json")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, []string{""}, plan.files, "the scenario of prony compare")
	assert.Equal(t, commits[1], movesIn(t).Current().Commit)
	var d moved
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &d), got.stdout)
	assert.Equal(t, result.Pass, d.Verdict)
	assert.Equal(t, commits[3], d.From)
	assert.Equal(t, movesIn(t).Current(), d.Build)
	require.NotEmpty(t, d.Products)
	assert.Equal(t, 2, d.Products[0].Moves)
	assert.InDelta(t, 1.0123, d.Products[0].Value, 1e-9)
}

// The command finds mistakes before it compares anything, and changes nothing.
func TestBaselineMoveRefusesMistakes(t *testing.T) {
	commits := moveRepository(t)
	write(t, "scenarios/two.hcl", tiny("a", "150ms", "")+tiny("b", "150ms", ""))
	write(t, "scenarios/swept.hcl", sweptTiny())
	before, err := os.ReadFile(buildFile)
	require.NoError(t, err)
	s := sheet(t)
	for name, args := range map[string][]string{
		"no reason":                  {"HEAD"},
		"a reason of two lines":      {"HEAD", "--because", "a\nb"},
		"a long reason":              {"HEAD", "--because", strings.Repeat("x", 1001)},
		"an empty reason for creep":  {"HEAD", "--because", "x", "--accept-creep", " "},
		"no commit":                  {"--because", "x"},
		"two commits":                {"HEAD", "HEAD~1", "--because", "x"},
		"an unknown commit":          {"none", "--because", "x"},
		"a flag as a commit":         {"--because", "x", "--", "--all"},
		"the baseline build itself":  {commits[1], "--because", "x"},
		"a commit of another branch": {"aside", "--because", "x"},
		"no baseline build":          {"HEAD", "--because", "x", "--baselines", "absent/baselines"},
		"a file of two scenarios":    {"HEAD", "--because", "x", "--scenario", "scenarios/two.hcl"},
		"a sweep":                    {"HEAD", "--because", "x", "--scenario", "scenarios/swept.hcl"},
		"a scenario twice":           {"HEAD", "--because", "x", "--scenario", "scenarios/compare.hcl", "--scenario", "./scenarios/compare.hcl"},
		"no such scenario":           {"HEAD", "--because", "x", "--scenario", "absent.hcl"},
	} {
		got, plan := pronyMove(t, []*result.Comparison{passes(1, 1)}, args...)
		got.stderr = withoutCommits(got.stderr, append(commits, revParsed(t, "aside")))
		refused(t, s, name, got)
		assert.Nil(t, plan, name)
	}
	after, err := os.ReadFile(buildFile)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))

	got, _ := pronyMove(t, nil, "HEAD", "--because", "x")
	got.stderr = withoutCommits(got.stderr, commits)
	refused(t, s, "the comparison fails", got)
	write(t, buildFile, strings.Replace(string(before), commits[1], strings.Repeat("0", 40), 1))
	got, _ = pronyMove(t, []*result.Comparison{passes(1, 1)}, "HEAD", "--because", "x")
	got.stderr = withoutCommits(got.stderr, commits)
	refused(t, s, "the repository lacks the commit", got)
}

// refusedMove checks that a move is refused with a code and a reason, on stderr and as JSON, and
// records nothing. It returns the document.
func refusedMove(t *testing.T, s *golden.Sheet, name string, commits []string, script []*result.Comparison, code int, args ...string) moved {
	t.Helper()
	before, err := os.ReadFile(buildFile)
	require.NoError(t, err)
	got, _ := pronyMove(t, script, append(args, "HEAD", "--json")...)
	assert.Equal(t, code, got.code, got.stderr)
	s.Equal(t, name, withoutCommits(got.stderr, commits))
	var d moved
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &d), got.stdout)
	assert.Equal(t, code, d.Verdict.ExitCode())
	s.Equal(t, name+", as JSON", withoutCommits(strings.Join(d.Refused, "\n"), commits))
	after, err := os.ReadFile(buildFile)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
	return d
}

func TestBaselineMoveRefusesComparisonsThatTellNothing(t *testing.T) {
	commits, s := moveRepository(t), sheet(t)
	refuse := func(name string, v result.Verdict, script ...*result.Comparison) moved {
		return refusedMove(t, s, name, commits, script, v.ExitCode(), "--because", "cycles_per_s")
	}
	for _, v := range []result.Verdict{result.Invalid, result.Inconclusive, result.Incorrect, result.Misconfigured} {
		c := passes(1.1, 0.9)
		c.Verdict = v
		d := refuse(string(v), v, c)
		assert.Empty(t, d.Build.Ratios)
		refuse(string(v)+" after a pass", v, comparisonOf("other", result.Pass, delta(result.CyclesPerS, 1)), c)
	}
	refuse("no figures", result.Invalid, comparisonOf("tiny", result.Pass))
	refuse("a rate of 0", result.Invalid, passes(0, 1))
}

// The reason for a loss must contain the name of each metric that got worse as a whole word.
func TestBaselineMoveAsksForTheReasonOfALoss(t *testing.T) {
	commits, s := moveRepository(t), sheet(t)
	lost := []*result.Comparison{comparisonOf("tiny", result.Regressed, worsened(delta(result.CyclesPerS, 0.97)), delta(result.ServerCPUUsPerCycle, 1.01),
		counted("stream_frames_per_cycle", 2, 2.1, result.Worsened), counted("storage_scanned_keys_per_cycle", 0, 1, result.Worsened),
		counted("calls_per_cycle", 2, 1, result.Improved))}
	refusedMove(t, s, "none is named", commits, lost, 1, "--because", "slower")
	refusedMove(t, s, "one is not named", commits, lost, 1,
		"--because", "cycles_per_s, stream_frames_per_cycle: safety; xstorage_scanned_keys_per_cycle, storage_scanned_keys_per_cycle2")
	refusedMove(t, s, "no metric is worse", commits, []*result.Comparison{comparisonOf("tiny", result.Regressed, delta(result.CyclesPerS, 1))}, 1, "--because", "cycles_per_s")

	const because = "cycles_per_s, stream_frames_per_cycle and storage_scanned_keys_per_cycle: each frame has a checksum"
	got, _ := pronyMove(t, lost, "HEAD", "--because", because)
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, because, movesIn(t).Current().Because)
}

// A product below 0.95 of its best needs a reason, after one move or several.
func TestBaselineMoveAsksForTheReasonOfCreep(t *testing.T) {
	commits := moveRepository(t)
	for i, target := range []string{"HEAD~1", "HEAD"} {
		got, _ := pronyMove(t, []*result.Comparison{passes(0.98, 1)}, target, "--because", "x")
		require.Equal(t, 0, got.code, got.stderr)
		assert.Equal(t, commits[2+i], movesIn(t).Current().Commit)
	}
	inGit(t, "commit", "--quiet", "--allow-empty", "--message", "more")
	third := []*result.Comparison{passes(0.98, 1.06)}
	commits = append(commits, revParsed(t, "HEAD"))
	s := sheet(t)
	refusedMove(t, s, "two figures", commits, third, 1, "--because", "x")

	got, _ := pronyMove(t, third, "HEAD", "--because", "x", "--accept-creep", "safety")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "safety", movesIn(t).Current().AcceptCreep)

	got, _ = pronyMove(t, []*result.Comparison{passes(1, 1)}, "HEAD~1", "--because", "back", "--accept-creep", "needless")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Empty(t, movesIn(t).Current().AcceptCreep)
	s.Equal(t, "a needless reason", withoutCommits(got.stderr, commits))
}

// A file can record each figure that a comparison judges.
func TestBaselineBuildsRecordWhatComparisonsJudge(t *testing.T) {
	var names []string
	for _, p := range gate.DefaultDuetPolicy().Primaries {
		names = append(names, p.Metric)
	}
	for _, c := range result.WorkCounters() {
		names = append(names, c.Metric())
	}
	assert.ElementsMatch(t, names, baselinebuild.Metrics())
}

func TestBaselineMoveCompletion(t *testing.T) {
	moveRepository(t)
	inGit(t, "tag", "v0.1")
	assert.Subset(t, completed(t, "baseline", "move", ""), []string{"HEAD", "aside", "v0.1"})
	assert.Equal(t, []string{"aside"}, completed(t, "baseline", "move", "a"))
	assert.Empty(t, completed(t, "baseline", "move", "HEAD", ""))
	assert.Equal(t, []string{"scenarios/compare.hcl", "scenarios/other.hcl"}, completed(t, "baseline", "move", "--scenario", ""))
}

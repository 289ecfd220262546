package pages_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/lint"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

var update = flag.Bool("update", false, "rewrite the golden pages under testdata")

// The golden files under testdata have the pages and the index, byte for byte, and all their links
// exist. After an intended change: go test ./pages -update, and read the difference.
func TestGoldenPages(t *testing.T) {
	reports := repository(t)
	write(t, filepath.Join(reports, "experiments.md"), "# Experiments\n")
	paths, err := pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
		if filepath.Base(filepath.Dir(path)) == pages.PlotsDir {
			copied, err := os.ReadFile(filepath.Join(report.PagesFolder(reports), filepath.Base(path)))
			require.NoError(t, err)
			plot, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(copied), string(plot))
			continue
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		golden := filepath.Join("testdata", "golden", filepath.Base(path))
		if *update {
			require.NoError(t, os.WriteFile(golden, got, 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), path)
	}
	assert.Equal(t, []string{"one.md", "alone-latency.svg", "two.md", "README.md"}, names)
	found, err := lint.Files(paths...)
	require.NoError(t, err)
	for _, f := range found {
		assert.NotEqual(t, lint.Link, f.Rule, f.Text)
	}
	altered, err := pages.Altered(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	assert.Empty(t, altered, "the same sources and data yield the same bytes")
}

// A stored plot that no page shows is found, and removed with the next pages.
func TestUnusedPlotsAreRemoved(t *testing.T) {
	reports := repository(t)
	_, err := pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	unused := filepath.Join(reports, pages.PlotsDir, "unused.svg")
	write(t, unused, "<svg/>")
	altered, err := pages.Altered(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	require.Len(t, altered, 1)
	assert.Equal(t, unused, altered[0].File)
	_, err = pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	assert.NoFileExists(t, unused)
	assert.FileExists(t, filepath.Join(reports, pages.PlotsDir, "alone-latency.svg"))
}

// A page that was changed or deleted by hand is found.
func TestAlteredPagesAreFound(t *testing.T) {
	reports := repository(t)
	paths, err := pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	text, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	write(t, paths[0], strings.Replace(string(text), "1,030 cycles/s", "2,030 cycles/s", 1))
	require.NoError(t, os.Remove(paths[1]))
	altered, err := pages.Altered(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	require.Len(t, altered, 2)
	line := 1 + strings.Count(string(text)[:strings.Index(string(text), "1,030 cycles/s")], "\n")
	assert.Equal(t, &pages.Problem{
		File: paths[0], Line: line,
		Text: "the page differs from the output of " + filepath.Join(reports, "pages", "one.md") + " and the data: change the source, and run make pages",
	}, altered[0])
	assert.Equal(t, paths[1], altered[1].File)
}

// one generates the page one with a part of its source replaced.
func one(t *testing.T, reports, from, to string) error {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "pages", "one.md"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), from), from)
	write(t, filepath.Join(reports, "pages", "one.md"), strings.Replace(string(text), from, to, 1))
	_, err = pages.Generate(nil, reports, report.PagesFolder(reports))
	return err
}

// Every mistake in a source is reported in one sentence with its line and a remedy.
func TestMistakesInSources(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "wrong", alone)
	r.Verdict, r.Rounds[0].Verdict = result.Incorrect, result.Incorrect
	publish(t, reports, r, hists)
	r, hists = made(t, "again", alone)
	publish(t, reports, r, hists)
	write(t, filepath.Join(reports, "data", "other", "comparison.json"), comparison)
	const (
		last    = "this is the last line."
		lastAt  = ":36: "
		figures = `figure "alone" "cycles_per_s"`
	)
	for _, c := range []struct{ from, to, says string }{
		{last, `{{figure "alon" "cycles_per_s"}}`, lastAt + `there is no data of "alon" in ` + filepath.Join(reports, "data") + `: did you mean "alone"?`},
		{last, `{{figure "nothing" "cycles_per_s"}}`, "there are again, alone, long, other, swept, wrong"},
		{last, `{{figure "wrong" "cycles_per_s"}}`, lastAt + `the ledger of "wrong" does not balance, so no figure of it is published`},
		{last, `{{figure "other" "cycles_per_s"}}`, lastAt + `the data of "other" are not from a run, a soak or a serial budget`},
		{last, `{{figure "alone" "cycle_per_s"}}`, lastAt + `"alone" has no metric "cycle_per_s": did you mean "cycles_per_s"?`},
		{last, `{{figure "alone" "latency"}}`, "there are cycle_latency_ms_max, "},
		{last, `{{figure "alone" "cycles_per_s" "batch=1"}}`, lastAt + `"alone" has no sweep: leave out "batch=1"`},
		{last, `{{figure "swept" "cycles_per_s"}}`, lastAt + `"swept" has a sweep: name one of its points: "batch=1", or "batch=64"`},
		{last, `{{figure "swept" "cycles_per_s" "batch=2"}}`, lastAt + `"swept" has no point "batch=2": name one completely: "batch=1", or "batch=64"`},
		{last, `{{figure "swept" "lost" "batch=1" "batch=1"}}`, `"swept" has no point "batch=1" "batch=1"`},
		{last, `{{figure "long" "lots"}}`, `the soak "long" has no metric "lots": did you mean "lost"?`},
		{last, `{{figure "long" "lost" "batch=1"}}`, `"long" is a soak, and has no sweep`},
		{last, `{{figure "again" "cycles_per_s"}}`, "cycles_per_s of alone = 1,030 cycles/s (1,000 to 1,060): these are figures of the same workload, and the set may cite only one of them"},
		{last, `{{figure "alone"}}`, lastAt + `executing "`},
		{last, `{{figures "alone"}}`, lastAt + `function "figures" not defined`},
		{last, `{{ratio (at "alone" "cycles_per_s") (at "long" "lost")}}`, lastAt + "no ratio of cycles_per_s of alone = 1,030 cycles/s (1,000 to 1,060) and lost of long = 0 tasks: both must be above 0"},
		{last, `{{holds (less 1 2)}}`, lastAt + "1 and 2 are both numbers: compare a figure"},
		{last, `{{holds (less "1" (at "long" "lost"))}}`, lastAt + `1 is neither a figure nor a number`},
		{last, `{{holds (within (at "long" "lost") 0 "x")}}`, lastAt + `x is not a percentage`},
		{last, `{{bound "long"}}`, lastAt + `"long" is a soak, which has no limiting resource`},
		{last, `{{bound "swept" "batch=1"}}`, lastAt + `"swept" has no limiting resource at batch=1`},
		{last, `{{measured}}`, lastAt + "measured has no scenario"},
		{last, `{{plot "alone" "sweep"}}`, lastAt + `"alone" has no plot "sweep": there are throughput, latency`},
		{last, `{{plot "alon" "sweep"}}`, lastAt + `there is no data of "alon": did you mean "alone"?`},
		{last, `{{plot "selftest" "power"}}`, "render it first with make pages"},
		{last, `{{plot "other" "sweep"}}`, "render it first with make pages"},
		{last, `{{noplot " "}}`, lastAt + "noplot has no reason"},
		{last, `{{code "engine/b.go" "func run" "TestRun"}}`, lastAt + "the page's code does not exist: "},
		{last, `{{code "../b.go" "func run" "TestRun"}}`, `"../b.go" is not a path relative to the root of the repository`},
		{last, `{{code "engine/a.go" "func ru" "TestRun"}}`, lastAt + `engine/a.go has no line that begins with "func ru": use the current declaration`},
		{last, `{{code "engine/a.go" "func run" "TestRan"}}`, lastAt + "there is no test TestRan: use the name of the test that now covers the claim"},
		{last, `{{code "engine/a.go" "func run" "TestTwice"}}`, "several packages have a test TestTwice: write one of engine.TestTwice, harness.TestTwice"},
		{last, `{{code "engine/a.go" "func run" "engine/a.TestTwice"}}`, "there is no test engine/a.TestTwice"},
		{last, `{{page "too"}}`, lastAt + `there is no page "too": did you mean "two"?`},
		{last, "## More\n", `:1: the sections are Question, Answer, How it was measured, Findings, More, What it costs`},
		{"## What limits it\n", "## Limits\n", "every page has these, in this order: Question, Answer, How it was measured"},
		{"Everything else.", "", `the section "Not measured" is empty`},
		{"## Question", "Hello.\n\n## Question", ":1: there is text before the first heading: begin with ## Question"},
		{"a batch change?", "a batch change.", ":1: the question does not end with a question mark"},
		{"with batches.", "with batches. So it is.", ":6: the answer is 2 sentences: write one"},
		{"The fixture does {{" + figures + "}},\n", "The fixture does it.\n\n", ":6: the answer has no figure"},
		{`{{plot "alone" "latency"}}`, "text", ":1: the page has no plot: show one with {{plot ...}}"},
		{last, strings.Repeat("more\n", 60), ":1: the page has 128 lines without the table of its figures: a page has 60 to 120"},
	} {
		err := one(t, reports, c.from, c.to)
		if assert.ErrorContains(t, err, c.says, c.to) {
			found, other := pages.Problems(err)
			require.NoError(t, other)
			assert.Equal(t, filepath.Join(reports, "pages", "one.md"), found[0].File)
			assert.NotContains(t, found[0].Text, "\n")
		}
	}
}

// The page contains no statement that the data no longer support: a false comparison in holds is an
// error with both values.
func TestFalseSentencesAreErrors(t *testing.T) {
	reports := repository(t)
	const (
		rate     = `(at "alone" "cycles_per_s")`
		single   = `(at "swept" "cycles_per_s" "batch=1")`
		batch    = `(at "swept" "cycles_per_s" "batch=64")`
		latency  = `(at "swept" "cycle_latency_ms_p50" "batch=1")`
		latency2 = `(at "swept" "cycle_latency_ms_p50" "batch=64")`
		lost     = `(at "long" "lost")`
	)
	for claim, says := range map[string]string{
		// Overlapping intervals, but the same ratio in each turn.
		"less " + single + batch:    "",
		"greater " + batch + single: "",
		"less " + batch + single:    "cycles_per_s of swept at batch=64 = 400 cycles/s (200 to 600) is certainly less than cycles_per_s of swept at batch=1 = 200 cycles/s (100 to 300) (interleaved, the ratio is 2.00 to 2.00)",
		"less " + single + single:   "is certainly less than",
		"greater " + rate + single:  "", // two runs without overlapping intervals
		"greater " + rate + "1000":  "1000 is certainly less than cycles_per_s of alone = 1,030 cycles/s (1,000 to 1,060)",
		"greater " + rate + "999.5": "",
		"less " + rate + "1060":     "is certainly less than 1,060",
		"less " + rate + "1060.5":   "",
		// Merged over rounds, so without a ratio of turns.
		"less " + latency + latency2:       "cycle_latency_ms_p50 of swept at batch=1",
		"unclear " + rate + "1030":         "",
		"unclear " + rate + "1060.5":       "cycles_per_s of alone = 1,030 cycles/s (1,000 to 1,060) cannot be distinguished from 1,060.5",
		"unclear " + rate + single:         "cannot be distinguished from cycles_per_s of swept at batch=1",
		"unclear " + single + batch:        "cannot be distinguished from",
		"unclear " + latency + latency2:    "",
		"within " + rate + "1000 3":        "",
		"within " + rate + "1000 2.9":      "cycles_per_s of alone = 1,030 cycles/s (1,000 to 1,060) is within 2.9 % of 1,000",
		"within " + batch + single + "100": "",
		"within " + batch + single + "99":  "is within 99 % of",
		"within " + lost + "0 0":           "",
		"less " + lost + "0":               "lost of long = 0 tasks is certainly less than 0",
		"less " + lost + "1":               "",
	} {
		claim = strings.ReplaceAll(strings.ReplaceAll(claim, ")", ") "), "less(", "less (")
		err := one(t, reports, "this is the last line.", "{{holds ("+claim+")}}\nthis is the last line.")
		if says == "" {
			assert.NoError(t, err, claim)
			continue
		}
		if assert.ErrorContains(t, err, ":36: the data do not support that ", claim) {
			assert.ErrorContains(t, err, strings.ReplaceAll(says, "1000 is", "1,000 is"), claim)
			assert.ErrorContains(t, err, ": change the sentence and its holds")
		}
	}
}

// A setting that only some of the scenarios have is listed after their names. A setting that all
// have is listed without names.
func TestMeasuredNamesWhoHasASetting(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "procs", alone)
	r.Manifest.Scenario.Topology.Procs = 3
	publish(t, reports, r, hists)
	require.NoError(t, one(t, reports, "this is the last line.", `{{measured "alone" "procs"}}`))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	assert.Contains(t, generated[0].Text, "; `procs`: `topology.procs = 3` (2 settings not recorded).")
	assert.Contains(t, generated[0].Text, "- Durability: `none`. Not at the default: `validity.")
}

// If one of the servers of a driver program is incorrect, the others keep their figures.
func TestOneIncorrectServerOfSeveral(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "servers", swept, batches()...)
	r.Verdict, r.Manifest.Scenario.Topology.Kind = result.Incorrect, scenario.ByProgram
	for i := range r.Rounds {
		if r.Rounds[i].Point == 1 {
			r.Rounds[i].Verdict = result.Incorrect
		}
	}
	publish(t, reports, r, hists)
	const last = "this is the last line."
	require.NoError(t, one(t, reports, last, `{{figure "servers" "cycles_per_s" "batch=64"}}`))
	assert.ErrorContains(t, one(t, reports, last, `{{figure "servers" "cycles_per_s" "batch=1"}}`), `"servers" has no metric "cycles_per_s" at batch=1`)
}

// A figure and a ratio with too few rounds for a 95 % interval show the number of rounds.
func TestFewRoundsAreSaid(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "few", []float64{300, 600, 100, 200, 200, 400}, batches()...)
	publish(t, reports, r, hists)
	const last = "this is the last line."
	require.NoError(t, one(t, reports, last, `{{figure "few" "cycles_per_s" "batch=64"}}, {{ratio (at "few" "cycles_per_s" "batch=64") (at "few" "cycles_per_s" "batch=1")}}`))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	assert.Contains(t, generated[0].Text, "[400 cycles/s (range 200 to 600, 3 rounds)](")
	assert.Contains(t, generated[0].Text, "[2.00 times (range 2.00 to 2.00, 3 turns)](")
}

// The problems of all pages are reported together.
func TestAllPagesAreChecked(t *testing.T) {
	reports := repository(t)
	write(t, filepath.Join(reports, "pages", "two.md"), "## Question\n")
	err := one(t, reports, "this is the last line.", `{{page "too"}}`)
	found, other := pages.Problems(err)
	require.NoError(t, other)
	files := map[string]int{}
	for _, p := range found {
		files[filepath.Base(p.File)]++
	}
	assert.Equal(t, 1, files["one.md"])
	assert.Greater(t, files["two.md"], 2)
}

// The set lists its pages, each with a source.
func TestMistakesInTheSet(t *testing.T) {
	reports := repository(t)
	file := filepath.Join(reports, "pages", "pages.hcl")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, c := range []struct{ from, to, says string }{
		{`page "two"`, `page "three"`, `page "three" has no source`},
		{`page "two"`, `page "one"`, `page "one" is repeated`},
		{`page "two"`, `page "README"`, `"README" cannot be the name of a page`},
		{`title = "Page two"`, ``, "title"},
		{`page "two" { title = "Page two" }`, ``, "two.md:1: the page is not in " + file + `: add page "two" to a group there, or remove the source`},
	} {
		write(t, file, strings.Replace(string(text), c.from, c.to, 1))
		_, err := pages.Generate(nil, reports, report.PagesFolder(reports))
		assert.ErrorContains(t, err, c.says)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(reports, "pages")))
	_, err = pages.Generate(nil, reports, report.PagesFolder(reports))
	assert.ErrorContains(t, err, "pages.hcl")
}

// The index reports data without a page, and only reads the data that it needs.
func TestDataWithoutAPage(t *testing.T) {
	reports := repository(t)
	require.NoError(t, os.Remove(filepath.Join(reports, "scenarios", "long.md")))
	_, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	assert.ErrorContains(t, err, "the data have no page: render it first with prony report "+filepath.Join(reports, "data", "long"))
	write(t, filepath.Join(reports, "data", "alone", "result.json"), "{")
	_, err = pages.Generate(nil, reports, report.PagesFolder(reports))
	_, other := pages.Problems(err)
	assert.Error(t, errors.Join(err, other))
}

// The points of a sweep over several settings together are named by all of these settings.
func TestPointsOfASweepOfSeveralSettings(t *testing.T) {
	reports := repository(t)
	points := batches()
	for i, workers := range []string{"8", "uniform(1, 2)"} {
		points[i].Values = append(points[i].Values, result.Value{Path: "workload.main.workers, workload.main.producers", Key: "workers, producers", Text: workers + ", 4"})
	}
	r, hists := made(t, "joint", swept, points...)
	publish(t, reports, r, hists)
	const last = "this is the last line."
	require.NoError(t, one(t, reports, last, `{{figure "joint" "cycles_per_s" "producers=4" "workers=8" "batch=1"}}`))
	require.NoError(t, one(t, reports, last, `{{figure "joint" "cycles_per_s" "batch=64" "workers, producers=uniform(1, 2), 4"}}`), "as stored, if its parts are ambiguous")
	assert.ErrorContains(t, one(t, reports, last, `{{figure "joint" "cycles_per_s" "batch=1" "workers=8"}}`), `name one completely: "batch=1" "workers=8" "producers=4", or`)
}

// A page shows the plots of the gate's self-test, which has a separate page.
func TestPlotsOfTheSelfTest(t *testing.T) {
	reports := repository(t)
	write(t, filepath.Join(reports, "selftest.md"), "![Power](selftest-power.svg)\n")
	require.NoError(t, one(t, reports, "this is the last line.", `{{plot "selftest" "power"}}`))
	_, err := pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "![Power](selftest-power.svg)")
}

// A figure of one of several workloads is named by both, and links to the section of the workloads.
func TestFiguresOfWorkloads(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "pair", swept, batches()...)
	for i := range r.Points {
		rate := r.Points[i].Metrics[result.CyclesPerS]
		quiet := result.Metric{Median: float64(10 * (i + 1)), Low: float64(10*(i+1) - 1), High: float64(10*(i+1) + 1), N: rate.N, Unit: rate.Unit}
		r.Points[i].Workloads = []result.Workload{{Name: "quiet", Metrics: map[string]result.Metric{result.CyclesPerS: quiet}}, {Name: "noisy"}}
	}
	publish(t, reports, r, hists)
	const last = "this is the last line."
	require.NoError(t, one(t, reports, last, `{{figure "pair" "quiet.cycles_per_s" "batch=1"}} and {{ratio (at "pair" "quiet.cycles_per_s" "batch=64") (at "pair" "quiet.cycles_per_s" "batch=1")}}
{{holds (less (at "pair" "quiet.cycles_per_s" "batch=1") (at "pair" "cycles_per_s" "batch=1"))}}`))
	_, err := pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "[10.0 cycles/s (9.00 to 11.0)](#figures-of-this-page) and [2.00 times (90 % CI 1.73 to 2.33)](#figures-of-this-page)",
		"the rounds of the run cover all workloads, so the ratio has no turns")
	assert.Contains(t, string(page), "`pair`, `batch=64`, workload `quiet`")
	assert.ErrorContains(t, one(t, reports, last, `{{figure "pair" "quite.cycles_per_s" "batch=1"}}`), `"pair" has no workload "quite": did you mean "quiet"?`)
	assert.ErrorContains(t, one(t, reports, last, `{{figure "pair" "noisy.lost" "batch=1"}}`), `the workload "noisy" of "pair" has no metric "lost" at batch=1`)
	assert.ErrorContains(t, one(t, reports, last, `{{figure "swept" "quiet.cycles_per_s" "batch=1"}}`), `"swept" has no workload "quiet" with separate figures: leave out "quiet."`)
	assert.ErrorContains(t, one(t, reports, last, `{{holds (less (at "pair" "quiet.cycles_per_s" "batch=64") (at "pair" "quiet.cycles_per_s" "batch=1"))}}`), "quiet.cycles_per_s of pair at batch=64 = 20.0")
}

// Small plots have the ratios of the turns at each value except the first, and are stored in a
// separate file next to the page.
func TestMultiples(t *testing.T) {
	reports := repository(t)
	const last = "this is the last line."
	require.NoError(t, one(t, reports, last, `{{multiples "cycles_per_s" "swept" "swept"}}`))
	paths, err := pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	drawn := filepath.Join(reports, "one-multiples.svg")
	require.Contains(t, paths, drawn)
	page, err := os.ReadFile(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "](one-multiples.svg)")
	svg, err := os.ReadFile(drawn)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(svg), ">batch (none)</text>"), "a plot for each scenario")
	assert.Equal(t, 2, strings.Count(string(svg), ">64</text>"), "with its values")
	require.NoError(t, os.Remove(drawn))
	altered, err := pages.Altered(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	require.Len(t, altered, 1)
	assert.Equal(t, drawn, altered[0].File)
	for from, says := range map[string]string{
		`{{multiples "cycles_per_s"}}`:         "multiples has no scenario",
		`{{multiples "cycles_per_s" "alone"}}`: `"alone" has no sweep`,
		`{{multiples "lost" "long"}}`:          `"long" is a soak, and has no sweep`,
		`{{multiples "lost" "swept"}}`:         "both must be above 0",
		`{{multiples "lots" "swept"}}`:         `has no metric "lots"`,
	} {
		assert.ErrorContains(t, one(t, reports, last, from), says)
	}
}

// The figures of a serial budget are those of its points, which are named by the settings that
// differ between them.
func TestFiguresOfASerialBudget(t *testing.T) {
	reports := repository(t)
	window := func(perS float64) *result.SerialWindow {
		return &result.SerialWindow{RequestsPerS: perS, ServerCPUNs: 900, Efficiency: 0.25, Profile: result.SerialProfile{Samples: 10, Requests: 10, FutexNs: 30}}
	}
	point := func(waits string, connections int) result.SerialPoint {
		return result.SerialPoint{
			Waits: waits, ServerProcs: 1, GeneratorProcs: 1, Connections: connections, InFlight: 256,
			Budget: &result.SerialBudget{WorkNs: 500, LowNs: 480, HighNs: 530, Pairs: 70}, Unloaded: window(2_000_000), AtBudget: window(1_900_000),
		}
	}
	skipped := result.SerialPoint{Waits: result.WaitsSpinning, ServerProcs: 1, GeneratorProcs: 1, Connections: 4, InFlight: 256, Skipped: "this host has one CPU"}
	folder := filepath.Join(reports, "data", "serial")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, result.WriteSerial(folder, &result.Serial{
		Version: result.SerialVersion, Started: begin, Finished: begin, Manifest: manifest(t, load("serial")), KeptShare: 0.95, SliceMs: 20,
		Points: []result.SerialPoint{point(result.WaitsParking, 1), point(result.WaitsParking, 4), skipped},
	}))
	_, err := report.Render(nil, folder, report.PagesFolder(reports))
	require.NoError(t, err)
	const last = "this is the last line."
	require.NoError(t, one(t, reports, last, `{{figure "serial" "budget_ns" "waits=parking" "connections=4"}}, {{figure "serial" "futex_ns_per_request" "waits=parking" "connections=4"}},
{{figure "serial" "unloaded_requests_per_s" "waits=parking" "connections=1"}}, {{figure "serial" "efficiency_percent" "waits=parking" "connections=1"}}
{{measured "serial"}}`))
	_, err = pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	for _, says := range []string{
		"[500 ns (480 to 530)](#figures-of-this-page)",
		"[30.0 ns/request (one window)]", "[2,000,000 requests/s (one window)]", "[25.0 % (one window)]",
		"3 points with a search and two windows each", "`serial`, `parking waits, server procs 1, generator procs 1, connections 4, in flight 256`",
	} {
		assert.Contains(t, string(page), says)
	}
	found, err := lint.Files(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	for _, f := range found {
		assert.NotEqual(t, lint.Link, f.Rule, f.Text)
	}
	for source, says := range map[string]string{
		`{{figure "serial" "budget_ns" "waits=parking"}}`:                  `has no point "waits=parking": name one completely: "waits=parking" "connections=1", or`,
		`{{figure "serial" "budget_ns" "waits=spinning" "connections=4"}}`: "was not measured: this host has one CPU",
		`{{figure "serial" "budget" "waits=parking" "connections=1"}}`:     `the serial budget "serial" has no metric "budget": there are budget_ns`,
		`{{bound "serial"}}`:                 `"serial" is a serial budget, which has no limiting resource`,
		`{{multiples "budget_ns" "serial"}}`: `"serial" is a serial budget, and has no sweep`,
	} {
		assert.ErrorContains(t, one(t, reports, last, source), says)
	}
}

// The table shows figures of another day, and a ratio, with those of the page and the other
// differences.
func TestDays(t *testing.T) {
	reports := repository(t)
	again := func(after time.Duration, change func(*result.Manifest), name string, rates []float64, points ...result.Point) {
		r, hists := made(t, name, rates, points...)
		r.Started = begin.Add(after)
		r.Run = result.NewID(r.Started, name)
		change(&r.Manifest)
		publish(t, reports, r, hists)
	}
	yesterday := func(m *result.Manifest) {
		m.Scenario.Phases.Warmup *= 2
		steal := 5.0
		m.Scenario.Validity.StealPercentMax = &steal // affects which rounds count, and is not a difference
	}
	today := func(m *result.Manifest) {
		m.Host.CPUModel = "Another CPU"
		m.Scenario.Phases.Warmup *= 8
		m.Scenario.Phases.WarmupMax = time.Minute
	}
	again(24*time.Hour, yesterday, "alone", []float64{1200, 1210, 1220, 1230, 1240, 1250, 1260})
	again(48*time.Hour, today, "alone", alone)
	again(49*time.Hour, today, "alone", []float64{1100, 1110, 1120, 1130, 1140, 1150, 1160})
	again(48*time.Hour, today, "swept", slices.Concat(swept, []float64{100, 600}), batches()...)
	const last = "this is the last line."
	const figures = `{{days (at "alone" "cycles_per_s") (over (at "swept" "cycles_per_s" "batch=64") (at "swept" "cycles_per_s" "batch=1"))}}`
	require.NoError(t, one(t, reports, last, figures))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	text := generated[0].Text
	assert.Contains(t, text, "| `alone`, `cycles_per_s` | [1,130 cycles/s (1,100 to 1,160)](#figures-of-this-page) |"+
		" 2026-01-03: [1,230 cycles/s (1,200 to 1,260)](history.md#alone) | 1.09 | no | 1.00 | Invented CPU, `phases.warmup = 2s`, no `phases.warmup_max` |",
		"the newest run of another day")
	assert.Contains(t, text, "| `swept`, `batch=64`, `cycles_per_s` ÷ `batch=1` | [2.00 times (2.00 to 2.00)](#figures-of-this-page) |"+
		" 2026-01-02: [2.00 times](history.md#swept) | 1.00 | yes | – | Invented CPU, `phases.warmup = 1s`, no `phases.warmup_max` |\n\n## What it costs")
	for from, says := range map[string]string{
		`{{days}}`:                         "days has no figure",
		`{{days 7}}`:                       "7 is not a figure",
		`{{days (at "long" "completed")}}`: "days compares figures of runs",
		`{{days (over (at "alone" "cycles_per_s") (at "swept" "cycles_per_s" "batch=1"))}}`: "over compares two figures of one run",
	} {
		assert.ErrorContains(t, one(t, reports, last, from), says)
	}
	fresh := repository(t)
	require.NoError(t, one(t, fresh, last, figures))
	generated, err = pages.Generate(nil, fresh, report.PagesFolder(fresh))
	require.NoError(t, err)
	assert.Contains(t, generated[0].Text, "not published", "no run of another day is published")
}

// A command that measured several of a page's scenarios is listed once, with all of them.
func TestOneCommandOfSeveralScenarios(t *testing.T) {
	reports := repository(t)
	for _, name := range []string{"first", "second"} {
		r, hists := made(t, name, alone)
		r.Manifest.Command = []string{"bin/prony", "publish"}
		r.Manifest.Scenario.Workloads[0].Workers += len(name) // the set may cite only one figure of each workload
		publish(t, reports, r, hists)
	}
	require.NoError(t, one(t, reports, `{{measured "alone" "swept" "long"}}`, `{{measured "first" "alone" "second"}}`))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	assert.Contains(t, generated[0].Text,
		"- Command: `bin/prony publish` ([`first`](data/first), [`second`](data/second)), `bin/prony run scenarios/alone.hcl` ([`alone`](data/alone)).\n")
}

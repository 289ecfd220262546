package pages_test

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/lint"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const lastLine = "this is the last line."

// The golden files under testdata have the pages and the index, byte for byte, and all their links
// exist.
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
		golden.Text(t, "testdata/golden/"+filepath.Base(path), string(got))
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
	s := golden.Cases(t, "testdata/altered.golden")
	s.Replace(reports, "REPORTS")
	s.Equal(t, "a changed page", altered[0].Text)
	assert.Equal(t, paths[0], altered[0].File)
	assert.Equal(t, line, altered[0].Line)
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

// sheet returns the golden file of a test's outputs.
func sheet(t *testing.T, reports string) *golden.Sheet {
	t.Helper()
	s := golden.Cases(t, "testdata/outputs/"+t.Name()+".golden")
	s.Replace(reports, "REPORTS")
	s.Replace(filepath.Dir(reports), "ROOT")
	return s
}

// mistakes compares the errors of actions in the last line of a source.
func mistakes(t *testing.T, s *golden.Sheet, reports string, actions ...string) {
	t.Helper()
	for _, action := range actions {
		s.Error(t, strings.ReplaceAll(action, "\n", " "), one(t, reports, lastLine, action))
	}
}

// added returns the lines of a page that the golden page of the same source lacks.
func added(t *testing.T, page string) string {
	t.Helper()
	plain, err := os.ReadFile("testdata/golden/one.md")
	require.NoError(t, err)
	var b strings.Builder
	for line := range strings.Lines(page) {
		if !strings.Contains("\n"+string(plain), "\n"+line) {
			b.WriteString(line)
		}
	}
	return b.String()
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
	s := sheet(t, reports)
	for _, c := range []struct{ from, to, name string }{
		{lastLine, `{{figure "alon" "cycles_per_s"}}`, ""},
		{lastLine, `{{figure "nothing" "cycles_per_s"}}`, ""},
		{lastLine, `{{figure "wrong" "cycles_per_s"}}`, ""},
		{lastLine, `{{figure "other" "cycles_per_s"}}`, ""},
		{lastLine, `{{figure "alone" "cycle_per_s"}}`, ""},
		{lastLine, `{{figure "alone" "latency"}}`, ""},
		{lastLine, `{{figure "alone" "cycles_per_s" "batch=1"}}`, ""},
		{lastLine, `{{figure "swept" "cycles_per_s"}}`, ""},
		{lastLine, `{{figure "swept" "cycles_per_s" "batch=2"}}`, ""},
		{lastLine, `{{figure "swept" "lost" "batch=1" "batch=1"}}`, ""},
		{lastLine, `{{figure "long" "lots"}}`, ""},
		{lastLine, `{{figure "long" "lost" "batch=1"}}`, ""},
		{lastLine, `{{figure "again" "cycles_per_s"}}`, ""},
		{lastLine, `{{figure "alone"}}`, ""},
		{lastLine, `{{figures "alone"}}`, ""},
		{lastLine, `{{ratio (at "alone" "cycles_per_s") (at "long" "lost")}}`, ""},
		{lastLine, `{{holds (less 1 2)}}`, ""},
		{lastLine, `{{holds (less "1" (at "long" "lost"))}}`, ""},
		{lastLine, `{{holds (within (at "long" "lost") 0 "x")}}`, ""},
		{lastLine, `{{bound "long"}}`, ""},
		{lastLine, `{{bound "swept" "batch=1"}}`, ""},
		{lastLine, `{{measured}}`, ""},
		{lastLine, `{{plot "alone" "sweep"}}`, ""},
		{lastLine, `{{plot "alon" "sweep"}}`, ""},
		{lastLine, `{{plot "selftest" "power"}}`, ""},
		{lastLine, `{{plot "other" "sweep"}}`, ""},
		{lastLine, `{{noplot " "}}`, ""},
		{lastLine, `{{code "engine/b.go" "func run" "TestRun"}}`, ""},
		{lastLine, `{{code "../b.go" "func run" "TestRun"}}`, ""},
		{lastLine, `{{code "engine/a.go" "func ru" "TestRun"}}`, ""},
		{lastLine, `{{code "engine/a.go" "func run" "TestRan"}}`, ""},
		{lastLine, `{{code "engine/a.go" "func run" "TestTwice"}}`, ""},
		{lastLine, `{{code "engine/a.go" "func run" "engine/a.TestTwice"}}`, ""},
		{lastLine, `{{page "too"}}`, ""},
		{lastLine, "## More\n", "another section"},
		{"## What limits it\n", "## Limits\n", "a renamed section"},
		{"Everything else.", "", "an empty section"},
		{"## Question", "Hello.\n\n## Question", "text before the first heading"},
		{"a batch change?", "a batch change.", "no question mark"},
		{"with batches.", "with batches. So it is.", "two sentences"},
		{"The fixture does {{figure \"alone\" \"cycles_per_s\"}},\n", "The fixture does it.\n\n", "no figure"},
		{`{{plot "alone" "latency"}}`, "text", "no plot"},
		{lastLine, strings.Repeat("more\n", 60), "a long page"},
	} {
		err := one(t, reports, c.from, c.to)
		s.Error(t, cmp.Or(c.name, c.to), err)
		found, other := pages.Problems(err)
		require.NoError(t, other)
		assert.Equal(t, filepath.Join(reports, "pages", "one.md"), found[0].File)
		assert.NotContains(t, found[0].Text, "\n")
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
	s := sheet(t, reports)
	for claim, holds := range map[string]bool{
		// Overlapping intervals, but the same ratio in each turn.
		"less " + single + batch:    true,
		"greater " + batch + single: true,
		"less " + batch + single:    false,
		"less " + single + single:   false,
		"greater " + rate + single:  true, // two runs without overlapping intervals
		"greater " + rate + "1000":  false,
		"greater " + rate + "999.5": true,
		"less " + rate + "1060":     false,
		"less " + rate + "1060.5":   true,
		// Merged over rounds, so without a ratio of turns.
		"less " + latency + latency2:       false,
		"unclear " + rate + "1030":         true,
		"unclear " + rate + "1060.5":       false,
		"unclear " + rate + single:         false,
		"unclear " + single + batch:        false,
		"unclear " + latency + latency2:    true,
		"within " + rate + "1000 3":        true,
		"within " + rate + "1000 2.9":      false,
		"within " + batch + single + "100": true,
		"within " + batch + single + "99":  false,
		"within " + lost + "0 0":           true,
		"less " + lost + "0":               false,
		"less " + lost + "1":               true,
	} {
		claim = strings.ReplaceAll(strings.ReplaceAll(claim, ")", ") "), "less(", "less (")
		err := one(t, reports, lastLine, "{{holds ("+claim+")}}\nthis is the last line.")
		if holds {
			assert.NoError(t, err, claim)
			continue
		}
		s.Error(t, strings.TrimSpace(claim), err)
	}
}

// A setting that only some of the scenarios have is listed after their names. A setting that all
// have is listed without names.
func TestMeasuredNamesWhoHasASetting(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "procs", alone)
	r.Manifest.Scenario.Topology.Procs = 3
	publish(t, reports, r, hists)
	require.NoError(t, one(t, reports, lastLine, `{{measured "alone" "procs"}}`))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	sheet(t, reports).Equal(t, "page", added(t, generated[0].Text))
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
	require.NoError(t, one(t, reports, lastLine, `{{figure "servers" "cycles_per_s" "batch=64"}}`))
	mistakes(t, sheet(t, reports), reports, `{{figure "servers" "cycles_per_s" "batch=1"}}`)
}

// A figure and a ratio with too few rounds for a 95 % interval show the number of rounds.
func TestFewRoundsAreSaid(t *testing.T) {
	reports := repository(t)
	r, hists := made(t, "few", []float64{300, 600, 100, 200, 200, 400}, batches()...)
	publish(t, reports, r, hists)
	require.NoError(t, one(t, reports, lastLine, `{{figure "few" "cycles_per_s" "batch=64"}}, {{ratio (at "few" "cycles_per_s" "batch=64") (at "few" "cycles_per_s" "batch=1")}}`))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	sheet(t, reports).Equal(t, "page", added(t, generated[0].Text))
}

// The problems of all pages are reported together.
func TestAllPagesAreChecked(t *testing.T) {
	reports := repository(t)
	write(t, filepath.Join(reports, "pages", "two.md"), "## Question\n")
	err := one(t, reports, lastLine, `{{page "too"}}`)
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
	s := sheet(t, reports)
	for _, c := range []struct{ from, to, name string }{
		{`page "two"`, `page "three"`, "no source"},
		{`page "two"`, `page "one"`, "twice"},
		{`page "two"`, `page "README"`, "the index"},
		{`title = "Page two"`, ``, "no title"},
		{`page "two" { title = "Page two" }`, ``, "a source that is not listed"},
	} {
		write(t, file, strings.Replace(string(text), c.from, c.to, 1))
		_, err := pages.Generate(nil, reports, report.PagesFolder(reports))
		s.Error(t, c.name, err)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(reports, "pages")))
	_, err = pages.Generate(nil, reports, report.PagesFolder(reports))
	s.Error(t, "no set", err)
}

// The index reports data without a page, and only reads the data that it needs.
func TestDataWithoutAPage(t *testing.T) {
	reports := repository(t)
	require.NoError(t, os.Remove(filepath.Join(reports, "scenarios", "long.md")))
	_, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	sheet(t, reports).Error(t, "no page", err)
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
	require.NoError(t, one(t, reports, lastLine, `{{figure "joint" "cycles_per_s" "producers=4" "workers=8" "batch=1"}}`))
	require.NoError(t, one(t, reports, lastLine, `{{figure "joint" "cycles_per_s" "batch=64" "workers, producers=uniform(1, 2), 4"}}`), "as stored, if its parts are ambiguous")
	mistakes(t, sheet(t, reports), reports, `{{figure "joint" "cycles_per_s" "batch=1" "workers=8"}}`)
}

// A page shows the plots of the gate's self-test, which has a separate page.
func TestPlotsOfTheSelfTest(t *testing.T) {
	reports := repository(t)
	write(t, filepath.Join(reports, "selftest.md"), "![Power](selftest-power.svg)\n")
	require.NoError(t, one(t, reports, lastLine, `{{plot "selftest" "power"}}`))
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
	require.NoError(t, one(t, reports, lastLine, `{{figure "pair" "quiet.cycles_per_s" "batch=1"}} and {{ratio (at "pair" "quiet.cycles_per_s" "batch=64") (at "pair" "quiet.cycles_per_s" "batch=1")}}
{{holds (less (at "pair" "quiet.cycles_per_s" "batch=1") (at "pair" "cycles_per_s" "batch=1"))}}`))
	_, err := pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	s := sheet(t, reports)
	s.Equal(t, "the rounds of the run cover all workloads, so the ratio has no turns", added(t, string(page)))
	mistakes(t, s, reports, `{{figure "pair" "quite.cycles_per_s" "batch=1"}}`, `{{figure "pair" "noisy.lost" "batch=1"}}`, `{{figure "swept" "quiet.cycles_per_s" "batch=1"}}`,
		`{{holds (less (at "pair" "quiet.cycles_per_s" "batch=64") (at "pair" "quiet.cycles_per_s" "batch=1"))}}`)
}

// Small plots have the ratios of the turns at each value except the first, and are stored in a
// separate file next to the page.
func TestMultiples(t *testing.T) {
	reports := repository(t)
	require.NoError(t, one(t, reports, lastLine, `{{multiples "cycles_per_s" "swept" "swept"}}`))
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
	mistakes(t, sheet(t, reports), reports, `{{multiples "cycles_per_s"}}`, `{{multiples "cycles_per_s" "alone"}}`, `{{multiples "lost" "long"}}`,
		`{{multiples "lost" "swept"}}`, `{{multiples "lots" "swept"}}`)
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
	require.NoError(t, one(t, reports, lastLine, `{{figure "serial" "budget_ns" "waits=parking" "connections=4"}}, {{figure "serial" "futex_ns_per_request" "waits=parking" "connections=4"}},
{{figure "serial" "unloaded_requests_per_s" "waits=parking" "connections=1"}}, {{figure "serial" "efficiency_percent" "waits=parking" "connections=1"}}
{{measured "serial"}}`))
	_, err = pages.Write(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	s := sheet(t, reports)
	s.Equal(t, "page", added(t, string(page)))
	found, err := lint.Files(filepath.Join(reports, "one.md"))
	require.NoError(t, err)
	for _, f := range found {
		assert.NotEqual(t, lint.Link, f.Rule, f.Text)
	}
	mistakes(t, s, reports, `{{figure "serial" "budget_ns" "waits=parking"}}`, `{{figure "serial" "budget_ns" "waits=spinning" "connections=4"}}`,
		`{{figure "serial" "budget" "waits=parking" "connections=1"}}`, `{{bound "serial"}}`, `{{multiples "budget_ns" "serial"}}`)
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
	const figures = `{{days (at "alone" "cycles_per_s") (over (at "swept" "cycles_per_s" "batch=64") (at "swept" "cycles_per_s" "batch=1"))}}`
	require.NoError(t, one(t, reports, lastLine, figures))
	generated, err := pages.Generate(nil, reports, report.PagesFolder(reports))
	require.NoError(t, err)
	s := sheet(t, reports)
	s.Equal(t, "the newest run of another day", added(t, generated[0].Text))
	mistakes(t, s, reports, `{{days}}`, `{{days 7}}`, `{{days (at "long" "completed")}}`,
		`{{days (over (at "alone" "cycles_per_s") (at "swept" "cycles_per_s" "batch=1"))}}`)
	fresh := repository(t)
	require.NoError(t, one(t, fresh, lastLine, figures))
	generated, err = pages.Generate(nil, fresh, report.PagesFolder(fresh))
	require.NoError(t, err)
	s.Equal(t, "no run of another day is published", added(t, generated[0].Text))
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
	sheet(t, reports).Equal(t, "page", added(t, generated[0].Text))
}

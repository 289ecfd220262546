package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/experiment"
	"github.com/pronybench/prony/harness/result"
)

func TestRatchetHelp(t *testing.T) {
	got := prony(t, "ratchet", "--help")
	require.Equal(t, 0, got.code)
	golden.Text(t, "testdata/ratchet-help.golden", got.stdout)
}

func sweptTiny() string {
	return tiny("tiny", "150ms", `sweep "workload.main.workers" { values = [1, 4] }`)
}

// ratchetRepository is repository with a ratchet's scenario and a ledger in its second commit.
func ratchetRepository(t *testing.T) {
	t.Helper()
	repository(t)
	write(t, "scenarios/ratchet.hcl", sweptTiny())
	write(t, "reports/experiments.hcl", "# The ledger.\n")
	gitDo(t, "add", ".")
	gitDo(t, "commit", "--quiet", "-m", "a scenario")
}

func ratchetArgs(more ...string) []string {
	return append([]string{"ratchet", "--base", "HEAD~1", "--change", "HEAD", "--hypothesis", "A wrapper, it's faster", "--cost", "a process"}, more...)
}

func ledger(t *testing.T) []experiment.Experiment {
	t.Helper()
	all, err := experiment.Load("reports/experiments.hcl")
	require.NoError(t, err)
	return all
}

// decided decodes stdout, which must be one document of the schema.
func (c command) decided(t *testing.T) result.Ratchet {
	t.Helper()
	valid(t, validator(t, "ratchet"), []byte(c.stdout))
	var r result.Ratchet
	require.NoError(t, json.Unmarshal([]byte(c.stdout), &r), c.stdout)
	return r
}

// A test suite that fails on the change's tree rejects the change before anything is built, with
// the suite's last lines.
func TestRatchetRejectsAChangeWhoseTestsFail(t *testing.T) {
	ratchetRepository(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	got := prony(t, ratchetArgs("--json", "--tests", "test -f scenarios/ratchet.hcl", "--tests", "echo begins; echo 'FAIL: one is not two'; exit 3")...)
	require.Equal(t, 1, got.code, got.stderr)
	r := got.decided(t)
	assert.False(t, r.Kept)
	assert.Equal(t, result.Regressed, r.Verdict)
	assert.NotContains(t, got.stderr, "building")
	all := ledger(t)
	require.Len(t, all, 1)
	e := all[0]
	assert.Equal(t, "a-wrapper-it-s-faster", e.Name)
	assert.False(t, e.Kept)
	assert.Equal(t, "a process", e.Cost)
	assert.Equal(t, "a scenario", e.Change)
	assert.Equal(t, "reports/experiments.hcl:1", e.File, "the first line that differs")
	assert.Contains(t, e.Measurement.Disqualified, "failed, exit status 3: begins FAIL: one is not two")
	assert.Nil(t, e.Measurement.Score)
	assert.Equal(t, strings.TrimSpace(gitDo(t, "rev-parse", "HEAD~1")), e.Measurement.Base)
	assert.Equal(t, strings.TrimSpace(gitDo(t, "rev-parse", "HEAD")), e.Measurement.Commit)
	assert.Equal(t, 2, e.Measurement.Points)
	assert.NoDirExists(t, "runs", "nothing was measured")
	nothingOfBuilds(t, tmp)

	s := sheet(t)
	for _, c := range []string{
		"", "--name No", "--name b --file none.go:1", "--name b --file reports/experiments.hcl:2", "--name b --file reports/experiments.hcl",
		"--name b --change none", "--name b --scenario scenarios/compare.hcl",
	} {
		refused(t, s, "$ "+c, prony(t, ratchetArgs(append(strings.Fields(c), "--tests", "false")...)...))
	}
	assert.Len(t, ledger(t), 1, "a mistake records nothing")
}

func TestRunSuite(t *testing.T) {
	dir := t.TempDir()
	failed, err := runSuite(t.Context(), dir, "pwd && test -d .", time.Minute)
	require.NoError(t, err)
	assert.Empty(t, failed)
	failed, err = runSuite(t.Context(), dir, "for i in $(seq 100); do echo line $i; done; exit 1", time.Minute)
	require.NoError(t, err)
	assert.Contains(t, failed, "line 100")
	assert.NotContains(t, failed, "line 70\n", "only the last lines")
	gone := func() {
		pid, err := os.ReadFile(filepath.Join(dir, "pid"))
		require.NoError(t, err)
		assert.Eventually(t, func() bool {
			state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "stat"))
			return err != nil || strings.Contains(string(state), ") Z ")
		}, time.Minute, 5*time.Millisecond)
	}
	// At the timeout the suite and its processes are killed. Processes that it leaves behind are
	// killed at its end.
	for timeout := 300 * time.Millisecond; ; timeout *= 2 { // until the suite got far enough on a busy host
		failed, err = runSuite(t.Context(), dir, "sleep 600 & echo $! > pid; wait", timeout)
		require.NoError(t, err)
		assert.Contains(t, failed, "did not end in "+timeout.String())
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		if strings.HasSuffix(string(text), "\n") || timeout > time.Minute {
			break
		}
	}
	gone()
	failed, err = runSuite(t.Context(), dir, "sleep 600 >/dev/null 2>&1 & echo $! > pid", time.Minute)
	require.NoError(t, err)
	assert.Empty(t, failed)
	gone()
	_, err = runSuite(cancelled(t), dir, "true", time.Minute)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "interrupted")
	_, err = runSuite(t.Context(), filepath.Join(dir, "none"), "true", time.Minute)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "run the test suite")
}

func TestTailIsBounded(t *testing.T) {
	w := &tail{}
	for range 3 {
		_, err := w.Write(make([]byte, suiteBytesMax))
		require.NoError(t, err)
	}
	_, err := w.Write([]byte("end"))
	require.NoError(t, err)
	assert.Len(t, w.String(), suiteBytesMax)
	assert.True(t, strings.HasSuffix(w.String(), "end"))
}

func TestNamesOfExperiments(t *testing.T) {
	for hypothesis, name := range map[string]string{
		"Fewer locks, less waiting": "fewer-locks-less-waiting",
		"under_scores":              "under-scores",
		strings.Repeat("word ", 40): "word-word-word-word-word-word-word-word-word",
		"—":                         "unnamed",
	} {
		assert.Equal(t, name, nameOf(hypothesis))
	}
}

func TestCommandOfARecord(t *testing.T) {
	assert.Equal(t, `prony ratchet --cost 'it'\''s one' --base main ''`, commandText([]string{"/tmp/x/prony-2", "ratchet", "--cost", "it's one", "--base", "main", ""}))
}

// A record has each figure once, with the worse ones marked.
func TestRecordOfARatchet(t *testing.T) {
	worse := result.RatchetFigure{Metric: "cycles_per_s", Base: 2, Change: 1, Ratio: 0.5, Low: 0.4, High: 0.6}
	atPoint := worse
	atPoint.Point = "workers=1"
	r := &result.Ratchet{
		Verdict: result.Regressed, Decided: true, Because: "score 1.1: worse", Generations: 12, Seconds: 140,
		Score:   &result.RatchetFigure{Ratio: 1.1, Low: 1.05, High: 1.2},
		Figures: []result.RatchetFigure{worse, {Metric: "server_rss_mb_max", Ratio: 1, Low: 1, High: 1}},
		Worse:   []result.RatchetFigure{worse, atPoint},
	}
	e := recordOf(experiment.Experiment{Name: "x", Measurement: &experiment.Measurement{Base: "b"}}, r)
	assert.False(t, e.Kept)
	assert.Equal(t, r.Because, e.Effect)
	assert.Equal(t, &experiment.Ratio{Ratio: 1.1, Low: 1.05, High: 1.2}, e.Measurement.Score)
	require.Len(t, e.Measurement.Figures, 3)
	assert.True(t, e.Measurement.Figures[0].Worse)
	assert.False(t, e.Measurement.Figures[1].Worse)
	assert.Equal(t, "workers=1", e.Measurement.Figures[2].Point)
	assert.True(t, e.Measurement.Figures[2].Worse)
	assert.Zero(t, e.Measurement.MoreWorse)

	for i := range 20 { // the largest of many losses
		f := atPoint
		f.Point, f.Ratio = fmt.Sprintf("workers=%d", 2+i), 0.5+0.02*float64(i)
		r.Worse = append(r.Worse, f)
	}
	m := recordOf(experiment.Experiment{Measurement: &experiment.Measurement{}}, r).Measurement
	require.Len(t, m.Figures, 2+worseMax)
	assert.Equal(t, 21-worseMax, m.MoreWorse)
	assert.Equal(t, "workers=8", m.Figures[len(m.Figures)-1].Point)
}

func TestRatchetPage(t *testing.T) {
	inFolder(t)
	write(t, "reports/experiments.hcl", `experiment "one" {
  named_by   = "a profile"
  hypothesis = "faster"
  change     = "less"
  effect     = "none"
  kept       = false
}
`)
	got := prony(t, "ratchet", "page")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "reports/experiments.md\n", got.stdout)
	assert.FileExists(t, "reports/experiments.md")
	assert.NoFileExists(t, "reports/experiments.svg")
	got = prony(t, "ratchet", "page", "--json")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, []result.Page{{Of: "reports/experiments.hcl", Page: "reports/experiments.md", Files: []string{}}}, got.document(t).Pages)
}

// Two equal builds are measured, decided and recorded; the decision is chance. With too little
// time, nothing is decided.
func TestRatchetMeasures(t *testing.T) {
	longtest.Only(t)
	generator, err := buildtest.Program("generator", "harness/cmd/generator")
	require.NoError(t, err)
	t.Setenv("PRONY_TEST_GENERATOR", generator)
	ratchetRepository(t)
	write(t, "harness/go.mod", "module example.org/harness\n\ngo 1.26\n\nrequire example.org/engine v0.0.0\n")
	write(t, "harness/cmd/generator/main.go", generatorSource)
	write(t, "engine/client/client.go", "package client\n")
	gitDo(t, "add", ".")
	gitDo(t, "commit", "--quiet", "-m", "a client")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	same := func(more ...string) []string {
		return append([]string{"ratchet", "--base", "HEAD", "--change", "HEAD", "--hypothesis", "nothing", "--cost", "none", "--json"}, more...)
	}
	got := prony(t, same("--dry-run")...)
	require.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stderr, "geometric mean of the ratios of enqueue_latency_ms_p95, cycle_latency_ms_p95, over 2 points, for 5m0s")
	assert.Empty(t, ledger(t))
	assert.NoDirExists(t, "runs")

	got = prony(t, same("--for", "1ns")...)
	require.Equal(t, 3, got.code, got.stderr)
	assert.Equal(t, 2, got.decided(t).Generations)
	assert.Empty(t, ledger(t), "nothing was decided")

	got = prony(t, same("--for", "60s", "--env", "PRONY_NOTHING=1", "--build-env", "GOAMD64=v1", "--tests", "true")...)
	require.Contains(t, []int{0, 1}, got.code, got.stderr)
	r := got.decided(t)
	assert.True(t, r.Decided)
	assert.Equal(t, got.code == 0, r.Kept)
	require.NotNil(t, r.Score)
	assert.GreaterOrEqual(t, r.Generations, 6)
	assert.Greater(t, len(r.Figures), 10)
	all := ledger(t)
	require.Len(t, all, 1)
	m := all[0].Measurement
	assert.Equal(t, "the same source, with GOAMD64=v1 PRONY_NOTHING=1", all[0].Change)
	assert.Empty(t, all[0].File)
	assert.Equal(t, r.Generations, m.Generations)
	assert.NotEmpty(t, m.Host)
	assert.NotEmpty(t, m.Go)
	assert.InEpsilon(t, r.Score.Ratio, m.Score.Ratio, 0.001)
	folders, err := filepath.Glob("runs/*-compare-tiny")
	require.NoError(t, err)
	d, err := result.ReadDuet(folders[len(folders)-1])
	require.NoError(t, err)
	for _, g := range d.Generations {
		require.Len(t, g.Points, 2)
		for _, p := range g.Points {
			for _, s := range p.Sides {
				assert.NotZero(t, s.Cycles)
				assert.NotZero(t, s.Ledger.Completed)
				require.NotNil(t, s.Open)
				assert.Positive(t, s.Open.P95Ms)
				assert.Positive(t, s.Open.Enqueue.P95Ms)
				assert.Positive(t, s.RSSMB)
				assert.Contains(t, s.PerCycle, result.ServerAllocsPerCycle)
			}
		}
	}
	nothingOfBuilds(t, tmp)
}

func TestMistakesOfRatchetAreInTheOrderOfTheFlags(t *testing.T) {
	f := ratchetFlags{base: "main", hypothesis: "h", cost: "none", length: 1, testsWithin: 1, buildEnv: []string{"a"}, env: []string{"b"}, baseEnv: []string{"c"}}
	for range 20 {
		require.EqualError(t, f.check(), "--build-env \"a\" must be NAME=VALUE\n--env \"b\" must be NAME=VALUE\n--base-env \"c\" must be NAME=VALUE")
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// comparison decodes stdout, which must be exactly one comparison.
func (c command) comparison(t *testing.T) *result.Comparison {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(c.stdout))
	decoder.DisallowUnknownFields()
	var d result.Comparison
	require.NoError(t, decoder.Decode(&d), c.stdout)
	assert.False(t, decoder.More())
	return &d
}

// measuredRun stores a run of twelve rounds at about the given rate.
func measuredRun(t *testing.T, out, id string, rate float64) string {
	t.Helper()
	r := &result.Result{Version: result.Version, Run: id, Scenario: "tiny", Title: "Tiny", Verdict: result.Pass}
	var histograms []result.RoundHistograms
	for number := 1; number <= 12; number++ {
		round := result.Round{
			Number: number, Verdict: result.Pass, Cycles: uint64(rate) + uint64(number), WindowSeconds: 1,
			Metrics: map[string]float64{result.ServerCPUUsPerCycle: 1e6/rate + float64(number)/1000, result.ClientCPUUsPerCycle: 5},
		}
		h := result.NewHistograms()
		for _, kind := range h.Kinds() {
			require.NoError(t, kind.Histogram.RecordValues(int64(1e9*100/rate)+int64(number), 100))
		}
		round.Derive(h)
		r.Rounds = append(r.Rounds, round)
		histograms = append(histograms, result.RoundHistograms{Round: number, Histograms: h})
	}
	folder, err := result.Create(out, id)
	require.NoError(t, err)
	require.NoError(t, folder.Store(r, histograms))
	return folder.Path()
}

func TestCompareStoredRuns(t *testing.T) {
	inFolder(t)
	base, slow := measuredRun(t, "runs", "base", 100_000), measuredRun(t, "runs", "slow", 80_000)
	got := prony(t, "compare", "--json", base, slow)
	assert.Equal(t, 1, got.code, got.stderr)
	c := got.comparison(t)
	assert.Equal(t, result.Regressed, c.Verdict)
	assert.Equal(t, result.CyclesPerS, c.Metrics[0].Metric)
	assert.InDelta(t, 0.8, c.Metrics[0].Ratio, 0.01)
	assert.Nil(t, c.Control)
	sheet(t).Equal(t, "slower", got.stderr)
	plain := prony(t, "compare", base, slow)
	assert.Equal(t, 1, plain.code)
	assert.Empty(t, plain.stdout)
	assert.Equal(t, got.stderr, plain.stderr)

	assert.Equal(t, 0, prony(t, "compare", slow, base).code, "faster passes")
	got = prony(t, "compare", "--effect", "30%", base, slow)
	assert.Equal(t, 1, got.code, "the latency has its own smallest effect")
	assert.NotContains(t, got.stderr, "cycles_per_s is -")
}

func TestCompareShowsStoredRunsThatCannotBeJudged(t *testing.T) {
	inFolder(t)
	base, change := stored(t, "runs", "base", nil), stored(t, "runs", "change", func(r *result.Result) {
		r.Verdict, r.Reasons = result.Invalid, []string{"round 1: the host slept"}
		for i := range r.Rounds {
			r.Rounds[i].Verdict = result.Invalid
			r.Rounds[i].Metrics[result.CyclesPerS] = 1500
		}
	})
	got := prony(t, "compare", base, change)
	assert.Equal(t, result.Invalid.ExitCode(), got.code, got.stderr)
	sheet(t).Equal(t, "an invalid change", got.stderr)
}

// Runs of two hosts: the output lists how the hosts differ, and the shares of the bare data path.
func TestCompareStoredRunsOfTwoHosts(t *testing.T) {
	inFolder(t)
	figure := func(v float64) result.Metric { return result.Metric{Median: v, Low: v, High: v, N: 8} }
	of := func(id string, rate, fsyncMs float64, host result.Host, servers ...result.ServerHost) string {
		r, histograms, err := result.Read(measuredRun(t, "runs", id, rate))
		require.NoError(t, err)
		host.FsyncMsP50 = fsyncMs
		r.Manifest.Host, r.Manifest.Hosts = host, servers
		r.Manifest.Scenario.Topology.Durability = "none"
		r.Manifest.Scenario.Workloads = []scenario.Workload{{Name: "main", Batch: 1}}
		r.References = []result.Reference{{
			Name: scenario.ReferenceBare, Batch: 1, Durability: "none", PerS: figure(1.25 * rate), CPUUs: figure(12), ServerCPUUs: new(figure(1e6 / rate / 2)), ClientCPUUs: new(figure(4)),
		}}
		r.Run = "host-" + id
		folder, err := result.Create("runs", r.Run)
		require.NoError(t, err)
		require.NoError(t, folder.Store(r, histograms))
		return folder.Path()
	}
	slow := result.Host{CPUModel: "Slow CPU", CPUs: 2}
	base := of("a", 50_000, 2, slow)
	same := of("b", 50_000, 1, slow)
	other := of("c", 100_000, 0.5, result.Host{CPUModel: "Fast CPU", CPUs: 64}, result.ServerHost{Node: "n1", CPUModel: "Server CPU", Version: "v1"})

	got := prony(t, "compare", "--json", base, other)
	require.Equal(t, 0, got.code, got.stderr)
	c := got.comparison(t)
	valid(t, validator(t, "comparison"), []byte(got.stdout))
	assert.Equal(t, []result.HostDifference{
		{Name: "cpu_model", Base: "Slow CPU", Change: "Fast CPU"},
		{Name: "cpu_model of n1", Change: "Server CPU"},
		{Name: "cpus", Base: "2", Change: "64"},
		{Name: "fsync_ms_p50", Base: "2", Change: "0.5"},
	}, c.Hosts)
	assert.InDelta(t, 0.8, c.Metrics[0].BaseOfBare.Median, 0.001)
	assert.InDelta(t, 0.8, c.Metrics[0].ChangeOfBare.Median, 0.001)
	sheet(t).Equal(t, "two hosts", got.stderr)

	got = prony(t, "compare", "--json", base, same)
	assert.Empty(t, got.comparison(t).Hosts, "fsync differs between runs on one host")
	assert.NotContains(t, got.stderr, "the hosts differ")
}

func TestCompareAPointOfStoredRuns(t *testing.T) {
	inFolder(t)
	sweep := func(id string, rates ...float64) string {
		var whole *result.Result
		var histograms []result.RoundHistograms
		for i, rate := range rates {
			r, own, err := result.Read(measuredRun(t, "single", fmt.Sprint(id, i), rate))
			require.NoError(t, err)
			if whole == nil {
				whole = r
			}
			rounds := r.Rounds
			if i == 0 {
				whole.Rounds = nil
			}
			for k := range rounds {
				rounds[k].Number, own[k].Round, rounds[k].Point = len(histograms)+1, len(histograms)+1, i+1
				whole.Rounds, histograms = append(whole.Rounds, rounds[k]), append(histograms, own[k])
			}
			text := fmt.Sprint(i + 1)
			whole.Points = append(whole.Points, result.Point{Number: i + 1, Name: "batch=" + text, Values: []result.Value{{Path: "workload.main.batch", Key: "batch", Text: text}}})
		}
		whole.Run = id
		whole.Manifest.Scenario.Workloads = []scenario.Workload{{Name: "main", Batch: 1}}
		whole.Manifest.Scenario.Sweeps = []scenario.Sweep{{Path: "workload.main.batch", Values: []string{"1", "2"}}}
		folder, err := result.Create("runs", id)
		require.NoError(t, err)
		require.NoError(t, folder.Store(whole, histograms))
		return folder.Path()
	}
	base, change := sweep("base", 100_000, 100_000), sweep("change", 80_000, 120_000)
	for point, ratio := range map[string]float64{"1": 0.8, "2": 1.2} {
		got := prony(t, "compare", "--json", "--point", point, base, change)
		c := got.comparison(t)
		assert.InDelta(t, ratio, c.Metrics[0].Ratio, 0.01, got.stderr)
		assert.Equal(t, 12, c.Base.Rounds, "only the rounds of the point")
	}
	s := sheet(t)
	mistake(t, s, "compare", base, change)
	mistake(t, s, "compare", "--point", "3", base, change)
	mistake(t, s, "compare", "--point", "1", base)
}

// A change that made its rounds invalid is also at fault when its stored comparison is judged
// again.
func TestInvalidRoundsOfAStoredComparison(t *testing.T) {
	inFolder(t)
	stored := &result.Comparison{
		Version: result.Version, Scenario: "tiny", Verdict: result.Regressed, Blocks: 12, Dropped: 9,
		Tried: []result.Tried{{Name: "base", Rounds: 21}, {Name: "change", Rounds: 21, Invalid: 9}},
	}
	require.NoError(t, os.Mkdir("both", 0o755))
	require.NoError(t, result.WriteComparison("both", stored))
	for _, side := range []string{"base", "change"} {
		measuredRun(t, "both", side, 100_000)
	}
	got := prony(t, "compare", "--json", "both")
	assert.Equal(t, 1, got.code, got.stderr)
	c := got.comparison(t)
	sheet(t).Equal(t, "9 of 21 rounds were invalid", strings.Join(c.Reasons, "\n"))
	assert.Equal(t, stored.Tried, c.Tried)
}

func TestCompareRefusesDifferentSettings(t *testing.T) {
	inFolder(t)
	base, change := measuredRun(t, "stored", "base", 100_000), measuredRun(t, "stored", "change", 100_000)
	r, histograms, err := result.Read(change)
	require.NoError(t, err)
	r.Run = "polling"
	r.Manifest.Scenario.Topology = scenario.Topology{Kind: "single", BusyPoll: true}
	r.Manifest.Servers = []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "memory", Value: "1GiB"}}}}
	folder, err := result.Create("stored", r.Run)
	require.NoError(t, err)
	require.NoError(t, folder.Store(r, histograms))
	other := *r
	other.Run = "memory"
	other.Manifest.Servers = []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "memory", Value: "2GiB"}, {Name: "new", Value: "1"}}}}
	larger, err := result.Create("stored", other.Run)
	require.NoError(t, err)
	require.NoError(t, larger.Store(&other, histograms))
	s := sheet(t)
	mistake(t, s, "compare", folder.Path(), larger.Path())
	got := mistake(t, s, "compare", "--json", base, folder.Path())
	assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
	assert.Contains(t, got.stderr, `topology.busy_poll is absent and "true"`)
	assert.Contains(t, got.stderr, "--allow-different-settings")
	assert.Equal(t, 0, prony(t, "compare", base, change).code)
	assert.Equal(t, 0, prony(t, "compare", "--allow-different-settings", base, folder.Path()).code)
}

// repository makes a repository and changes to it. Its server is the real one in a wrapper, which a
// commit may change or break.
func repository(t *testing.T) {
	t.Helper()
	inFolder(t)
	t.Setenv("PRONY_TEST_QUEUED", queuedBinary)
	t.Setenv("GOFLAGS", "")
	write(t, "engine/go.mod", "module example.org/engine\n\ngo 1.26\n")
	write(t, ".gitignore", "runs/\n")
	write(t, "scenarios/compare.hcl", tiny("tiny", "150ms", ""))
	wrapper(t, "")
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"config", "user.email", "test@example.org"},
		{"config", "user.name", "test"},
		{"add", "."},
		{"commit", "--quiet", "-m", "the base"},
	} {
		gitDo(t, args...)
	}
}

func gitDo(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	output, err := c.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}

func wrapper(t *testing.T, more string) {
	t.Helper()
	write(t, "engine/cmd/queued/main.go", fmt.Sprintf(`package main

import (
	"os"
	"syscall"
)

func main() {
	%s
	real := os.Getenv("PRONY_TEST_QUEUED")
	panic(syscall.Exec(real, append([]string{real}, os.Args[1:]...), os.Environ()))
}
`, more))
}

// nothingOfBuilds checks that no worktree and no binary remains.
func nothingOfBuilds(t *testing.T, tmp string) {
	t.Helper()
	assert.Equal(t, 1, strings.Count(gitDo(t, "worktree", "list"), "\n"), "the worktrees are removed, also in git")
	left, err := filepath.Glob(filepath.Join(tmp, "prony-build-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestCompareBuildsBothSides(t *testing.T) {
	longtest.Only(t)
	repository(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	head := strings.TrimSpace(gitDo(t, "rev-parse", "HEAD"))
	wrapper(t, "os.Setenv(\"CHANGED\", \"yes\")")
	got := prony(t, "compare", "--base", "HEAD", "--rounds", "2", "--json")
	require.Equal(t, 4, got.code, "two blocks are too few: %s", got.stderr)
	c := got.comparison(t)
	assert.Equal(t, result.Inconclusive, c.Verdict)
	assert.Equal(t, 2, c.Blocks)
	assert.Equal(t, head, c.Base.Commit)
	assert.False(t, c.Base.Dirty)
	assert.True(t, c.Change.Dirty, "the working tree is measured")
	assert.Equal(t, c.Base.Server, c.Control.Server, "the control is the base")
	assert.NotEqual(t, c.Base.Server, c.Change.Server)
	nothingOfBuilds(t, tmp)

	folder := filepath.Dir(c.Base.Run)
	assert.Contains(t, got.stderr, folder)
	assert.FileExists(t, filepath.Join(folder, report.ComparisonPage))
	valid(t, validator(t, "comparison"), []byte(got.stdout))
	again := prony(t, "compare", "--json", folder)
	assert.Equal(t, 4, again.code, again.stderr)
	assert.Equal(t, c.Metrics, again.comparison(t).Metrics, "the stored comparison gets the same judgement")

	t.Run("the same source is the same binary", func(t *testing.T) {
		got := prony(t, "compare", "--base", "HEAD", "--change", "HEAD", "--rounds", "2", "--json")
		assert.Equal(t, 4, got.code, got.stderr)
		c := got.comparison(t)
		assert.Equal(t, c.Base.Server, c.Change.Server)
	})
	t.Run("servers with different settings", func(t *testing.T) {
		wrapper(t, `os.Setenv("QUEUED_STALL_MAX", "45s")`)
		got := prony(t, "compare", "--base", "HEAD", "--rounds", "2", "--json")
		assert.Equal(t, 2, got.code, got.stderr)
		assert.Contains(t, got.document(t).Error, `the settings of base and change differ: the server's stall_max is "10s" and "45s"`)
		assert.NotContains(t, got.stderr, "block 2")
		got = prony(t, "compare", "--base", "HEAD", "--rounds", "2", "--allow-different-settings")
		assert.Equal(t, 4, got.code, got.stderr)
	})
	t.Run("a base that does not build", func(t *testing.T) {
		wrapper(t, "this is not Go")
		gitDo(t, "commit", "--quiet", "-am", "broken")
		got := prony(t, "compare", "--base", "HEAD", "--change", "HEAD~1", "--json")
		assert.Equal(t, 2, got.code)
		assert.Contains(t, got.stderr, "build base of ")
		assert.Contains(t, got.stderr, "main.go:9")
		assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
		nothingOfBuilds(t, tmp)
	})
}

// Mistakes are found before anything is built.
func TestCompareOfRevisionsRefuses(t *testing.T) {
	s := sheet(t)
	repository(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	write(t, "embedded.hcl", strings.Replace(strings.Replace(tiny("tiny", "150ms", ""), `topology "single"`, `topology "embedded"`, 1), `"stream"`, `"embedded"`, 1))
	mistake(t, s, "compare", "--base", "--oops")
	mistake(t, s, "compare", "--base", "HEAD", "--scenario", "embedded.hcl")
	mistake(t, s, "compare", "--base", "HEAD", "--rounds", "1")
	mistake(t, s, "compare", "--base", "HEAD", "--var", "nope=1")
	nothingOfBuilds(t, tmp)
}

// A server that cannot start is found before the comparison.
func TestCompareOfAServerThatFails(t *testing.T) {
	repository(t)
	wrapper(t, `os.Stderr.WriteString("store: not today\n"); os.Exit(3)`)
	got := prony(t, "compare", "--base", "HEAD", "--rounds", "2", "--json")
	assert.Equal(t, 2, got.code, got.stderr)
	c := got.comparison(t)
	assert.Equal(t, result.Misconfigured, c.Verdict)
	assert.Contains(t, strings.Join(c.Reasons, "\n"), "store: not today")
}

func TestFilesAreNamedFromTheWorkingDirectory(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	path, err := relativeTo(root, compareScenario)
	require.NoError(t, err)
	assert.Equal(t, "scenarios/compare.hcl", path)
}

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// A stored duet that is judged again names the limiting resource of each side, from the duet and
// from the profiles of the sides.
func TestCompareSaysWhatADuetIsBoundBy(t *testing.T) {
	inFolder(t)
	d := &result.Duet{Version: result.DuetVersion, Scenario: "tiny", Sides: [2]result.DuetSide{{Name: run.Base}, {Name: run.Change}}}
	d.Manifest.Host.CPUs = 2
	d.Manifest.Scenario.Topology = scenario.Topology{Kind: "single", Shards: 1, Procs: 1, Durability: "none"}
	d.Manifest.Scenario.Workloads = []scenario.Workload{{Procs: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed}}}
	for number := 1; number <= 6; number++ {
		g := result.Generation{Number: number, Verdict: result.Pass}
		g.Sides[0] = result.GenerationSide{Cycles: 1000, ActiveS: 1, ServerCPUNs: 0.97e9, ClientCPUNs: 0.5e9}
		g.Sides[1] = result.GenerationSide{Cycles: 1000, ActiveS: 1, ServerCPUNs: 0.5e9, ClientCPUNs: 0.5e9}
		d.Generations = append(d.Generations, g)
	}
	folder := t.TempDir()
	require.NoError(t, result.WriteDuet(folder, d))
	require.NoError(t, result.WriteComparison(folder, &result.Comparison{
		Version: result.Version, Verdict: result.Inconclusive, Duet: &result.DuetJudgement{Look: 3, Looks: 3},
	}))
	s := sheet(t)
	bounds := func(got command) string {
		last := got.stderr[strings.LastIndex(got.stderr, "\n\n")+2:]
		return strings.ReplaceAll(last, folder, "FOLDER")
	}
	got := prony(t, "compare", "--json", folder)
	c := got.comparison(t)
	require.NotNil(t, c.Base.Bound, got.stderr)
	assert.Equal(t, result.BoundServerCPU, c.Base.Bound.By)
	assert.Nil(t, c.Change.Bound, "unknown from the duet alone")
	s.Equal(t, "from the duet", bounds(got))
	valid(t, validator(t, "comparison"), []byte(got.stdout))

	for _, name := range []string{run.Base, run.Change} {
		arm, err := result.Create(folder, name)
		require.NoError(t, err)
		require.NoError(t, arm.Store(&result.Result{
			Version: result.Version, Run: name, Verdict: result.Pass, Locks: []result.Lock{{Name: "shard.mu", Kind: "mutex", WaitNsPerCycle: 2e6}},
		}, nil))
	}
	got = prony(t, "compare", "--json", folder)
	c = got.comparison(t)
	require.NotNil(t, c.Change.Bound, got.stderr)
	assert.Equal(t, result.BoundLock, c.Change.Bound.By)
	s.Equal(t, "from the profiles", bounds(got))
}

// generatorSource is a load generator that runs the real one. It only compiles if the engine has a
// client.
const generatorSource = `package main

import (
	"os"
	"syscall"

	_ "example.org/engine/client"
)

func main() {
	real := os.Getenv("PRONY_TEST_GENERATOR")
	panic(syscall.Exec(real, []string{real}, os.Environ()))
}
`

func TestCompareMeasuresADuet(t *testing.T) {
	longtest.Only(t)
	generator, err := buildtest.Program("generator", "harness/cmd/generator")
	require.NoError(t, err)
	t.Setenv("PRONY_TEST_GENERATOR", generator)
	repository(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	gitDo(t, "tag", "no-client")
	write(t, "harness/go.mod", "module example.org/harness\n\ngo 1.26\n\nrequire example.org/engine v0.0.0\n")
	write(t, "harness/cmd/generator/main.go", generatorSource)
	write(t, "engine/client/client.go", "package client\n")
	write(t, "scenarios/compare.hcl", tiny("tiny", "1s", "profiled_rounds = 2\n  capture \"cpu\" {}\n  capture \"mutex\" {}"))
	gitDo(t, "add", ".")
	gitDo(t, "commit", "--quiet", "-m", "a client")
	head := strings.TrimSpace(gitDo(t, "rev-parse", "HEAD"))
	wrapper(t, "os.Setenv(\"CHANGED\", \"yes\")")
	got := prony(t, "compare", "--base", "HEAD", "--for", "1ns", "--work-cycles", "2000", "--json")
	require.Equal(t, 4, got.code, "two generations are too few: %s", got.stderr)
	c := got.comparison(t)
	assert.Equal(t, result.Inconclusive, c.Verdict)
	require.NotNil(t, c.Duet)
	assert.Equal(t, 2, c.Duet.Measured)
	assert.Equal(t, layouts, c.Duet.Layouts)
	assert.True(t, c.Duet.OwnClients)
	assert.Equal(t, head, c.Base.Commit)
	assert.False(t, c.Base.Dirty)
	assert.True(t, c.Change.Dirty, "the working tree is measured")
	assert.NotEqual(t, c.Base.Server, c.Change.Server)
	assert.NotNil(t, c.Base.Bound, "the generations have all inputs")
	assert.NotNil(t, c.Change.Bound)
	nothingOfBuilds(t, tmp)
	valid(t, validator(t, "comparison"), []byte(got.stdout))

	folders, err := filepath.Glob("runs/*-compare-tiny")
	require.NoError(t, err)
	require.Len(t, folders, 1)
	folder := folders[0]
	assert.Contains(t, got.stderr, folder)
	assert.FileExists(t, filepath.Join(folder, report.ComparisonPage))
	assert.NoDirExists(t, filepath.Join(folder, "data"))
	measured, err := result.ReadDuet(folder)
	require.NoError(t, err)
	for _, g := range measured.Generations {
		for _, s := range g.Sides {
			assert.NotZero(t, s.Cycles)
			assert.Equal(t, s.Ledger.Enqueued, s.Ledger.Completed)
			require.NotNil(t, s.Open)
			assert.NotZero(t, s.Open.Arrivals)
			assert.Len(t, s.Stages, 7, "all except those of a cluster")
			assert.Contains(t, s.PerCycle, result.StorageFsyncUsPerCycle)
		}
	}
	require.NotNil(t, measured.Work)
	assert.InDelta(t, 2000, measured.Work.Cycles, 100)
	var names []string
	for _, s := range measured.Sides {
		require.NotEmpty(t, s.Settings, "the servers reported their settings")
		for _, setting := range s.Settings[0].Settings {
			names = append(names, setting.Name)
		}
	}
	assert.Contains(t, names, "durability")
	assert.NotEmpty(t, c.Duet.Settings)
	assert.NotEmpty(t, c.Duet.ServerSettings)
	for _, name := range []string{run.Base, run.Change} {
		arm, err := result.ReadArm(name, filepath.Join(folder, name))
		require.NoError(t, err)
		assert.NotEmpty(t, arm.Result.Profiles)
		assert.NotEmpty(t, arm.Result.Rounds)
	}
	again := prony(t, "compare", "--json", folder)
	assert.Equal(t, 4, again.code, again.stderr)
	assert.Equal(t, c.Metrics, again.comparison(t).Metrics, "the stored comparison gets the same judgement")

	t.Run("a base without the client", func(t *testing.T) {
		got := prony(t, "compare", "--base", "no-client", "--for", "1ns", "--json")
		require.Equal(t, 4, got.code, got.stderr)
		c := got.comparison(t)
		assert.False(t, c.Duet.OwnClients)
		assert.Contains(t, strings.Join(c.Warnings, "\n"), "both sides use the client of the working tree")
	})
	t.Run("servers with different settings", func(t *testing.T) {
		wrapper(t, `os.Setenv("QUEUED_STALL_MAX", "45s")`)
		says := `the settings of base and change differ: the server's stall_max is "`
		got := prony(t, "compare", "--base", "HEAD", "--for", "1ns", "--json")
		assert.Equal(t, 2, got.code, got.stderr)
		assert.Equal(t, result.Misconfigured, got.document(t).Verdict)
		assert.Contains(t, got.document(t).Error, says)
		assert.NotContains(t, got.stderr, "generation 1")

		got = prony(t, "compare", "--base", "HEAD", "--for", "1ns", "--json", "--allow-different-settings")
		require.Equal(t, 4, got.code, got.stderr)
		assert.Contains(t, strings.Join(got.comparison(t).Warnings, "\n"), `base and change ran with different settings: the server's stall_max is "`)
		folders, err := filepath.Glob("runs/*-compare-tiny")
		require.NoError(t, err)
		last := folders[len(folders)-1]
		got = prony(t, "compare", "--json", last)
		assert.Equal(t, 2, got.code, got.stderr)
		assert.Equal(t, 4, prony(t, "compare", "--allow-different-settings", last).code)
	})
	t.Run("a server that fails", func(t *testing.T) {
		wrapper(t, `os.Stderr.WriteString("store: not today\n"); os.Exit(3)`)
		got := prony(t, "compare", "--base", "HEAD", "--json")
		assert.Equal(t, 2, got.code, got.stderr)
		c := got.comparison(t)
		assert.Equal(t, result.Misconfigured, c.Verdict)
		assert.Contains(t, strings.Join(c.Reasons, "\n"), "store: not today")
	})
}

// Only a loss in the last look needs more profiled generations.
func TestALossNeedsProfiles(t *testing.T) {
	of := func(changeNs int64, generations int) *result.Duet {
		d := &result.Duet{Version: result.DuetVersion}
		for number := 1; number <= generations; number++ {
			g := result.Generation{Number: number, Verdict: result.Pass}
			for side, ns := range []int64{1e9, changeNs} {
				g.Sides[side] = result.GenerationSide{Cycles: 100_000, ActiveS: 1 + 0.001*float64(number%3), ServerCPUNs: ns + int64(number%5)*1e6, ClientCPUNs: 1e9 + int64(number%4)*1e6}
			}
			d.Generations = append(d.Generations, g)
		}
		return d
	}
	l := &looking{policy: gate.DefaultDuetPolicy(), looks: 1, verdict: result.Inconclusive}
	assert.False(t, l.decided(of(1.1e9, 4), 1), "four generations are too few")
	assert.Zero(t, l.profiled(nil))
	assert.True(t, l.decided(of(1.1e9, 12), 2))
	assert.Equal(t, result.Regressed, l.verdict)
	assert.Equal(t, gate.CauseGenerations, l.profiled(nil))
	assert.Equal(t, 2, l.looks)
	assert.True(t, l.decided(of(1e9, 12), 3))
	assert.Equal(t, result.Pass, l.verdict)
	assert.Zero(t, l.profiled(nil))
}

// The causes of a loss are the stages that take longer, even without profiles.
func TestCausesOfADuetWithoutProfiles(t *testing.T) {
	var d result.Duet
	for n := range 5 {
		g := result.Generation{Number: n + 1, Verdict: result.Pass}
		for side := range g.Sides {
			us := float64(2 + 500*side + n)
			g.Sides[side] = result.GenerationSide{Cycles: 1000, ActiveS: 0.02, Stages: []result.Stage{result.StageOf(result.StageReceive, us, []uint64{1000})}}
		}
		d.Generations = append(d.Generations, g)
	}
	for verdict, want := range map[result.Verdict]int{result.Regressed: 1, result.Pass: 0} {
		c, err := described(t.TempDir(), &d, &result.Comparison{Verdict: verdict, Duet: &result.DuetJudgement{}})
		require.NoError(t, err)
		assert.Empty(t, c.Warnings)
		require.Len(t, c.Causes, want)
		if want > 0 {
			assert.Equal(t, "stage", c.Causes[0].Kind)
			sheet(t).Equal(t, "a slower stage", c.Causes[0].Sentence)
		}
	}
}

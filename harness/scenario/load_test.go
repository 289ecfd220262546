package scenario

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// Each .hcl file in testdata/bad is refused with the text of the .golden file of the same name.
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.hcl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hcl"), func(t *testing.T) {
			scenarios, err := Load(file)
			require.Error(t, err)
			require.Nil(t, scenarios)
			var d *Diagnostics
			require.ErrorAs(t, err, &d)
			assert.NotContains(t, err.Error(), "\x1b", "no colour")
			golden.Text(t, strings.TrimSuffix(file, ".hcl")+".golden", filepath.ToSlash(err.Error())+"\n")
		})
	}
}

// One call reports the problems of all files, in the order of the files. A valid file between them
// adds none.
func TestLoadReportsAllFilesInOnePass(t *testing.T) {
	_, err := Load("testdata/bad/values.hcl", "testdata/defaults.hcl", "testdata/missing.hcl", "testdata/bad/syntax.hcl")
	require.Error(t, err)
	text := err.Error()
	first := strings.Index(text, "testdata/bad/values.hcl line")
	second := strings.Index(text, "testdata/missing.hcl: cannot be read: no such file or directory")
	third := strings.Index(text, "testdata/bad/syntax.hcl line")
	assert.True(t, 0 <= first && first < second && second < third, text)
	assert.Contains(t, text, "in 3 files")
}

func TestLoadRefusesNamesTakenAcrossFiles(t *testing.T) {
	dir := t.TempDir()
	src, err := os.ReadFile("testdata/defaults.hcl")
	require.NoError(t, err)
	copied := filepath.Join(dir, "copy.hcl")
	require.NoError(t, os.WriteFile(copied, src, 0o644))
	_, err = Load("testdata/defaults.hcl", copied)
	s := golden.Cases(t, "testdata/taken.golden")
	s.Replace(dir, "DIR")
	s.Error(t, "in two files", err)
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	s := golden.Cases(t, "testdata/nofile.golden")
	s.Replace(dir, "DIR")
	_, err := Load()
	s.Error(t, "none", err)
	_, err = Load(dir)
	s.Error(t, "a folder", err)
	_, err = Load("testdata/defaults.hcl", "testdata/defaults.hcl")
	s.Error(t, "a file twice", err)
	large := filepath.Join(dir, "large.hcl")
	require.NoError(t, os.WriteFile(large, []byte(strings.Repeat("#\n", 40<<10)), 0o644))
	_, err = Load(large)
	s.Error(t, "a large file", err)
}

func TestLoadFillsInDefaults(t *testing.T) {
	all, err := Load("testdata/defaults.hcl")
	require.NoError(t, err)
	require.Equal(t, []*Scenario{{
		Name:     "defaults",
		Title:    "defaults",
		Topology: Topology{Kind: "single", Shards: 1, Durability: "sync", Listen: "tcp"},
		Workloads: []Workload{{
			Name: "main", Driver: "stream", Connections: 1, Tenants: 1, Queues: 1,
			Producers: 3, Workers: 4, Batch: 1,
			Payload:  Payload{Kind: "fixed", Min: 64, Max: 64},
			Keys:     Keys{Kind: "round_robin"},
			Seed:     1,
			Arrivals: Arrivals{Kind: "closed"},
			Lease:    30 * time.Second,
		}},
		Phases: Phases{Warmup: time.Second, Window: 5 * time.Second, Drain: 30 * time.Second},
		Rounds: 7,
		Validity: Validity{
			StealPercentMax: new(5.0), ForeignCPUPercentMax: new(10.0), PressureMemoryPercentMax: new(10.0), ThrottledPercentMax: new(1.0),
			ClockStepMsMax: new(10.0), FrequencyDropPercentMax: new(20.0), TrendPercentMax: new(10.0), SlipMsP99Max: new(1.0), GeneratorCPUPercentMax: new(95.0),
			BacklogGrowthPercentMax: new(100.0),
		},
		File: "testdata/defaults.hcl",
	}}, all)
	assert.Equal(t, 7*36*time.Second, all[0].Duration())
}

func TestLoadReadsEverything(t *testing.T) {
	all, err := Load("testdata/everything.hcl")
	require.NoError(t, err)
	require.Len(t, all, 2)
	s := all[0]
	assert.Equal(t, &Scenario{
		Name:  "everything",
		Title: "All attributes, none at its default",
		Tags:  []string{"one", "two-2"},
		Topology: Topology{
			Kind: "single", Shards: 1, Durability: "interval", SyncInterval: 25 * time.Millisecond, Listen: "unix", Procs: 1, BusyPoll: true,
		},
		Workloads: []Workload{{
			Name: "load-1", Driver: "stream", Connections: 2, Tenants: 4, Queues: 8,
			Producers: 100000, Workers: 5, Batch: 3, Procs: 1, BusyPoll: true,
			Payload:  Payload{Kind: "uniform", Min: 32, Max: 1 << 20},
			Keys:     Keys{Kind: "round_robin"},
			Seed:     1,
			Arrivals: Arrivals{Kind: "closed"},
			Lease:    90 * time.Second,
		}},
		Phases: Phases{Warmup: 0, WarmupMax: 4 * time.Second, Window: 1500 * time.Millisecond, Drain: time.Minute},
		Rounds: 3,
		Captures: []Capture{
			{Kind: "cpu"},
			{Kind: "mutex", MutexFraction: 1},
			{Kind: "block", BlockRate: time.Microsecond},
			{Kind: "allocs"},
			{Kind: "goroutine"},
			{Kind: "trace", CycleLatency: 250 * time.Millisecond},
		},
		ProfiledRounds: 2,
		Invariants:     []Invariant{{Kind: "conserved"}},
		Validity: Validity{
			Warn: true, ForeignCPUPercentMax: new(25.0), PressureCPUPercentMax: new(90.0), PressureMemoryPercentMax: new(0.0),
			ThrottledPercentMax: new(2.5), ClockStepMsMax: new(3.0), TrendPercentMax: new(20.0), SlipMsP99Max: new(5.0),
			GeneratorCPUPercentMax: new(80.0), BacklogGrowthPercentMax: new(250.0),
		},
		File: "testdata/everything.hcl",
	}, s)
	assert.Equal(t, 5*(4*time.Second+1500*time.Millisecond+time.Minute), s.Duration(), "the duration includes the profiled rounds")

	second := all[1]
	assert.Equal(t, "second", second.Name)
	assert.Equal(t, 10*time.Millisecond, second.Topology.SyncInterval, "the default with interval")
	assert.Equal(t, []Capture{
		{Kind: "mutex", MutexFraction: 5},
		{Kind: "block", BlockRate: 10 * time.Microsecond},
	}, second.Captures)
	assert.Equal(t, Payload{Kind: "fixed", Min: 4096, Max: 4096}, second.Workloads[0].Payload)
}

func TestJSON(t *testing.T) {
	for _, name := range []string{"defaults", "everything", "points", "raft", "k6", "soak"} {
		all, err := Load("testdata/" + name + ".hcl")
		require.NoError(t, err)
		got, err := json.MarshalIndent(all[0], "", "  ")
		require.NoError(t, err)
		golden.Text(t, "testdata/"+name+".json", string(got)+"\n")
		var read Scenario
		require.NoError(t, json.Unmarshal(got, &read))
		again, err := json.MarshalIndent(read, "", "  ")
		require.NoError(t, err)
		assert.Equal(t, string(got), string(again), "%s survives storing and reading", name)
	}
}

// Every scenario of the repository is valid and checks the ledger. A file has the name of its first
// scenario and is in the list of files. The names of further scenarios begin with that name.
func TestRepositoryScenarios(t *testing.T) {
	var files []string
	for _, folder := range []string{"../../scenarios/", "../../scenarios/faults/", "../../scenarios/jobs/"} {
		found, err := filepath.Glob(folder + "*.hcl")
		require.NoError(t, err)
		require.NotEmpty(t, found)
		files = append(files, found...)
	}
	all, err := Load(files...)
	require.NoError(t, err)
	readme, err := os.ReadFile("../../scenarios/README.md")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, s := range all {
		base := strings.TrimSuffix(filepath.Base(s.File), ".hcl")
		assert.True(t, s.Name == base || seen[s.File] && strings.HasPrefix(s.Name, base+"-"), "%s in %s", s.Name, s.File)
		seen[s.File] = true
		if s.Topology.Kind != ByProgram { // such servers have no counters for the invariant
			assert.Contains(t, s.Invariants, Invariant{Kind: "conserved"}, s.Name)
		}
		assert.True(t, strings.Contains(string(readme), base+".hcl)"), "%s is in the list of files in scenarios/README.md", base)
	}
}

// hostile returns texts with n repetitions that would make a naive parser slow, deeply recursive or
// both.
func hostile(n int) []string {
	return []string{
		"scenario \"a\" { tags = " + strings.Repeat("[\n", n),
		"scenario \"a\" { rounds = " + strings.Repeat("-", n),
		"scenario \"a\" { rounds = " + strings.Repeat("1?", n),
		"scenario \"a\" { rounds = (" + strings.Repeat("1+\n", n) + "1) }",
		"scenario \"a\" {" + strings.Repeat("\n a=1", n) + "\n}",
		"scenario \"a\" {" + strings.Repeat("sweep \"topology.shards\" { values = [1, 2] }\n", n/8) + "}",
		"scenario \"a\" {\nsweep \"topology.shards\" { values = [" + strings.Repeat("1,\n", n) + "] }\n}",
		"locals {\n" + strings.Repeat("a = local.a\n", n/4) + "}",
		"locals { a = (" + strings.Repeat("-\n", n) + "1) }",
		"locals { a = (" + strings.Repeat("1?\n", n) + "1) }",
		"locals { a = " + strings.Repeat("(\n", n) + "1 }",
		"locals { a = \"" + strings.Repeat("${1}", n/2) + "\" }",
		"scenario \"a\" {\n" + strings.Repeat("include \"b.hcl\" {}\n", n/4) + "}",
		"scenario \"a\" {\n" + strings.Repeat("zip {}\n", n/2) + "}",
		"scenario \"a\" {\n" + strings.Repeat("x {}\n", n) + "}",
		"scenario \"a\" {" + strings.Repeat("x {\n", n),
		"a = " + strings.Repeat("\"${", n),
		strings.Repeat("a = \n", n),
		strings.Repeat("a = <<A\n", n),
		strings.Repeat("a \"x\" ", n) + "{}",
	}
}

// The error text for a file of maximal size that consists of errors is bounded.
func TestLoadBoundsItsReport(t *testing.T) {
	for _, src := range hostile(2_000) {
		_, err := parse("hostile.hcl", []byte(src), nil)
		require.Error(t, err)
		assert.Less(t, len(err.Error()), 100_000, src[:40])
	}
	_, err := parse("hostile.hcl", []byte("scenario \"a\" {"+strings.Repeat("\n a=1", 8_000)+"\n}"), nil)
	require.ErrorContains(t, err, "8003 errors in 1 file, of which 100 are shown")
	assert.Equal(t, 100, strings.Count(err.Error(), "Error: "))
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.hcl", "testdata/bad/*.hcl", "../../scenarios/*.hcl", "../../scenarios/faults/*.hcl", "../cmd/prony/testdata/language/*.hcl"} {
		files, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(src)
		}
	}
	f.Add([]byte("\xef\xbb\xbfscenario \"a\" {\r\n rounds = 1e999999999 }"))
	for _, src := range hostile(300) {
		f.Add([]byte(src))
	}
	others := map[string]string{}
	for path, name := range map[string]string{"base.hcl": "shared/base.hcl", "deeper.hcl": "shared/deeper.hcl"} {
		src, err := os.ReadFile("../cmd/prony/testdata/language/shared/" + path)
		require.NoError(f, err)
		others[name] = string(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		scenarios, err := parse("fuzz.hcl", src, others)
		if err == nil {
			require.NotEmpty(t, scenarios)
			for _, s := range scenarios {
				require.Positive(t, s.Duration())
				require.Positive(t, s.Expected())
				_, err := json.Marshal(s)
				require.NoError(t, err)
				for _, p := range s.Plan() {
					due, _ := p.Offered(s.Phases.Window)
					require.False(t, math.IsNaN(due) || math.IsInf(due, 0) || due < 0)
					for _, w := range p.Workloads {
						require.GreaterOrEqual(t, w.Payload.Min, payloadBytesMin)
						require.LessOrEqual(t, w.Payload.Max, payloadBytesMax)
						require.NotEmpty(t, w.Keys.Kind)
					}
				}
			}
			return
		}
		require.Nil(t, scenarios)
		require.NotEmpty(t, err.Error())
	})
}

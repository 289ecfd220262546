package report_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const fixtureRun = "testdata/run"

var fixtureStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// drawnRound has the random values of a round of the fixture.
type drawnRound struct {
	rate, serverCPU, clientCPU, rss float64
	histograms                      result.Histograms
}

// draws caches the drawn rounds. Each test has the same rounds, and drawing their latencies takes
// most of the time of a fixture.
var draws = struct {
	sync.Mutex

	random *rand.Rand
	rounds []drawnRound
}{random: rand.New(rand.NewPCG(7, 11))}

// drawn returns a round. The caller owns its histograms.
func drawn(t testing.TB, number int) drawnRound {
	t.Helper()
	draws.Lock()
	defer draws.Unlock()
	for random := draws.random; len(draws.rounds) < number; {
		d := drawnRound{
			rate: 152_000 + 4_000*random.NormFloat64(), serverCPU: 7.4 + 0.1*random.NormFloat64(), clientCPU: 5.3 + 0.1*random.NormFloat64(),
			rss: 184 + random.NormFloat64(), histograms: result.NewHistograms(),
		}
		for range 20_000 {
			enqueue := 90e3 * math.Exp(0.45*random.NormFloat64())
			settle := 70e3 * math.Exp(0.4*random.NormFloat64())
			if random.Float64() < 0.004 {
				enqueue += 2e6 * random.ExpFloat64()
			}
			require.NoError(t, d.histograms.Enqueue.RecordValue(int64(enqueue)))
			require.NoError(t, d.histograms.Settle.RecordValue(int64(settle)))
			require.NoError(t, d.histograms.Cycle.RecordValue(int64(enqueue+settle+40e3*random.ExpFloat64())))
		}
		draws.rounds = append(draws.rounds, d)
	}
	d := draws.rounds[number-1]
	d.histograms = result.Histograms{
		Enqueue: hdrhistogram.Import(d.histograms.Enqueue.Export()), Settle: hdrhistogram.Import(d.histograms.Settle.Export()),
		Cycle: hdrhistogram.Import(d.histograms.Cycle.Export()),
	}
	return d
}

// fixture invents a run. Its values are plausible, but no machine measured them.
func fixture(t testing.TB, timed, profiled int) (*result.Result, []result.RoundHistograms) {
	t.Helper()
	r := &result.Result{
		Version: result.Version, Run: result.NewID(fixtureStart, "fixture"), Scenario: "fixture",
		Title:   "Fixture: invented values | for the tests of pages",
		Started: fixtureStart, Finished: fixtureStart.Add(2 * time.Minute), Verdict: result.Pass,
		Manifest: result.Manifest{
			Command: []string{"bin/prony", "run", "scenarios/fixture.hcl", "--out", "my runs"},
			Dir:     ".",
			Scenario: expanded(t, &scenario.Scenario{
				Name:     "fixture",
				Topology: scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"},
				Workloads: []scenario.Workload{{
					Name: "main", Driver: "stream", Connections: 2, Tenants: 1, Queues: 1, Producers: 32, Workers: 128, Batch: 1,
					Payload: scenario.Payload{Kind: "fixed", Min: 64, Max: 64}, Arrivals: scenario.Arrivals{Kind: "closed"},
					Lease: 30 * time.Second,
				}},
				Phases: scenario.Phases{Warmup: 2 * time.Second, Window: 10 * time.Second, Drain: 30 * time.Second},
				Rounds: timed,
				Captures: []scenario.Capture{
					{Kind: "mutex", MutexFraction: 1}, {Kind: "block", BlockRate: time.Microsecond},
				},
			}),
			Host: result.Host{
				OS: "linux", Kernel: "6.1.0-fixture", Arch: "amd64", CPUModel: "Invented CPU @ 2.0 GHz", CPUs: 2, GOMAXPROCS: 2,
				GOMAXPROCSSource: "cpus", MemoryMB: 8192, CgroupCPUMax: "max", CgroupMemoryMax: "max", Filesystem: "ext4",
				FsyncMsP50: 1.25, FsyncMsMax: 7.5,
			},
			Build: result.Build{GoVersion: "go1.26.0", Commit: "0123456789abcdef0123456789abcdef01234567", Server: "00ff00ff"},
		},
	}
	var hists []result.RoundHistograms
	for number := 1; number <= timed+profiled; number++ {
		isProfiled := number > timed
		d := drawn(t, number)
		rate := d.rate
		if isProfiled {
			rate *= 0.93
		}
		round := result.Round{
			Number: number, Profiled: isProfiled, Verdict: result.Pass,
			Started:       fixtureStart.Add(time.Duration(number) * 13 * time.Second),
			WindowSeconds: 10, Cycles: uint64(rate * 10),
			Metrics: map[string]float64{
				result.ServerCPUUsPerCycle: d.serverCPU,
				result.ClientCPUUsPerCycle: d.clientCPU,
				result.ServerRSSMBMax:      d.rss,
				result.ServerCPUCores:      0.87,
				result.StorageSetsPerCycle: 2.1,
				result.StorageGetsPerCycle: 0,
			},
			Ledger: result.Ledger{Enqueued: uint64(rate * 12.1), Completed: uint64(rate * 12.1)},
		}
		round.Derive(d.histograms)
		r.Rounds = append(r.Rounds, round)
		hists = append(hists, result.RoundHistograms{Round: number, Histograms: d.histograms})
	}
	if timed > 0 {
		metrics, err := result.Summarise(r.Rounds, hists, result.OfLoad)
		require.NoError(t, err)
		r.Metrics = metrics
	}
	if profiled > 0 {
		r.Profiles = []result.Profile{
			{Kind: "mutex", File: "profiles/mutex.pb.gz", Unit: "nanoseconds", Total: 3.4e9, Top: []result.ProfileEntry{
				{Function: "example.org/engine/shard.(*Inbox).Put", Flat: 2.1e9, Cum: 2.2e9, Share: 2.1 / 3.4},
				{Function: "example.org/lib.Pool[go.shape.int|uint].Get", Flat: 0.9e9, Cum: 1e9, Share: 0.9 / 3.4},
			}},
			{Kind: "block", File: "profiles/block.pb.gz", Unit: "nanoseconds", Total: 512e9, Top: []result.ProfileEntry{
				{Function: "example.org/engine/shard.(*Shard).run", Flat: 300e9, Cum: 300e9, Share: 300.0 / 512},
			}},
			{Kind: "allocs", File: "profiles/allocs.pb.gz", Unit: "bytes", Total: 2.8e9, Top: []result.ProfileEntry{
				{Function: "example.org/engine/rpc.decode", Flat: 1.4e9, Cum: 1.9e9, Share: 0.5},
			}},
			{Kind: "goroutine", File: "profiles/goroutine.pb.gz", Unit: "count", Total: 1_234, Top: []result.ProfileEntry{
				{Function: "example.org/engine/rpc.serve", Flat: 1_000, Cum: 1_100, Share: 1000.0 / 1234},
			}},
			{Kind: "cpu", File: "profiles/cpu.pb.gz", Unit: "nanoseconds"},
		}
	}
	return r, hists
}

// expanded returns a scenario as it is read from a manifest.
func expanded(t testing.TB, s *scenario.Scenario) (read scenario.Scenario) {
	t.Helper()
	data, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &read))
	return read
}

func stored(t testing.TB, r *result.Result, hists []result.RoundHistograms) string {
	t.Helper()
	f, err := result.Create(t.TempDir(), r.Run)
	require.NoError(t, err)
	require.NoError(t, f.Store(r, hists))
	return f.Path()
}

// sheet returns the golden file of a test's outputs.
func sheet(t *testing.T) *golden.Sheet {
	t.Helper()
	return golden.Cases(t, "testdata/outputs/"+t.Name()+".golden")
}

// added returns the lines of a page that an earlier page lacks.
func added(before, after string) string {
	known := map[string]bool{}
	for line := range strings.Lines(before) {
		known[line] = true
	}
	var b strings.Builder
	for line := range strings.Lines(after) {
		if !known[line] {
			b.WriteString(line)
		}
	}
	return b.String()
}

var label = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)

// labels returns the texts of a plot, one a line.
func labels(plot string) string {
	var b strings.Builder
	for _, m := range label.FindAllStringSubmatch(plot, -1) {
		b.WriteString(m[1] + "\n")
	}
	return b.String()
}

func updateFixture(t *testing.T) {
	t.Helper()
	r, hists := fixture(t, 7, 1)
	dir := stored(t, r, hists)
	require.NoError(t, os.MkdirAll(fixtureRun, 0o755))
	for _, name := range []string{result.ResultFile, result.HistogramsFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, result.WriteFile(filepath.Join(fixtureRun, name), data))
	}
}

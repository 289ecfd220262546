package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/reference"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// A whole run on the real server: a timed round and a profiled one.
func TestExecute(t *testing.T) {
	t.Parallel()
	s := small()
	s.Workloads[0].Tenants, s.Workloads[0].Queues, s.Workloads[0].Connections, s.Workloads[0].Batch = 2, 2, 2, 1
	// The window lasts at least 250 ms: long enough for several samples of the host.
	s.Workloads[0].Think = scenario.Think{Kind: scenario.ThinkFixed, Min: time.Millisecond, Max: time.Millisecond}
	s.Phases.Tasks = 1000
	s.Workloads[0].Payload = scenario.Payload{Kind: "uniform", Min: 64, Max: 256}
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}, {Kind: "block", BlockRate: time.Microsecond}}
	on := real(t)
	e := execute(t, s, on)
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Empty(t, r.Reasons)
	assert.Len(t, on.started(t), 2, "each round has a separate server")

	require.Len(t, r.Rounds, 2)
	for i, round := range r.Rounds {
		assert.Equal(t, i+1, round.Number)
		assert.Equal(t, i == 1, round.Profiled)
		assert.Equal(t, result.Pass, round.Verdict)
		assert.Greater(t, round.WindowSeconds, 0.2)
		assert.GreaterOrEqual(t, round.Cycles, uint64(s.Phases.Tasks))
		assert.Positive(t, round.Metrics[result.ServerCPUUsPerCycle])
		assert.Positive(t, round.Metrics[result.ClientCPUUsPerCycle])
		assert.Positive(t, round.Metrics[result.ServerRSSMBMax])
		assert.Positive(t, round.Ledger.Enqueued)
		assert.Equal(t, round.Ledger.Enqueued, round.Ledger.Completed)
		assert.Zero(t, round.Ledger.Unknown)
		assert.NotEmpty(t, round.Server, "counters of the server")
		checkObserved(t, &round)
	}
	for _, spec := range result.Specs() {
		m, found := r.Metrics[spec.Name]
		if spec.Part != "" && spec.Part != result.OfLoad && spec.Part != result.OfStorage && spec.Part != result.OfRuntime && spec.Part != result.OfTurns && spec.Part != result.OfLoss && spec.Part != result.OfAnatomy && spec.Part != result.OfTenants && spec.Part != result.OfProfiling {
			assert.False(t, found, spec.Name)
			continue
		}
		require.True(t, found, spec.Name)
		assert.Equal(t, spec.Unit, m.Unit, spec.Name)
		if !spec.Zero {
			assert.Positive(t, m.Median, spec.Name)
		}
	}
	assert.Equal(t, 1, r.Metrics[result.CyclesPerS].N, "the profiled round is not timed")
	assert.Equal(t, 2, r.Metrics[result.Lost].N, "its ledger counts")
	for _, round := range r.Rounds {
		require.NotNil(t, round.Stalls, "the server records its slow commits")
		assert.Equal(t, 5.0, round.Stalls.SlowMs)
		require.Len(t, round.Stages, 8, "all stages except those of a cluster")
		for _, s := range round.Stages {
			assert.Positive(t, s.Count, "stage %s", s.Name)
			assert.Positive(t, s.SumMs, "stage %s", s.Name)
		}
		require.NotNil(t, round.Turns)
		assert.Positive(t, round.Turns.Count)
		assert.Positive(t, round.Turns.ItemsMax)
		require.NotNil(t, round.LossWindow)
		assert.Positive(t, round.LossWindow.Tasks.Max, "durability none does not fsync immediately")
		assert.Positive(t, round.LossWindow.Ms.Max)
		decided, replied := round.Stages[2], round.Stages[6]
		assert.Equal(t, []string{result.StageDecide, result.StageReply}, []string{decided.Name, replied.Name})
		assert.Positive(t, round.Metrics[result.StorageSetsPerCycle])
		for _, metric := range []string{result.StorageScannedPerCycle, result.StorageFsyncUsPerCycle} {
			assert.Contains(t, round.Metrics, metric)
		}
	}

	t.Run("is stored and readable", func(t *testing.T) {
		stored, histograms, err := result.Read(e.folder)
		require.NoError(t, err)
		assert.Equal(t, r.Metrics, stored.Metrics)
		assert.Equal(t, r.Profiles, stored.Profiles)
		require.Len(t, histograms, 2)
		assert.Equal(t, int64(stored.Rounds[0].Cycles), histograms[0].Cycle.TotalCount())
		assert.Equal(t, int64(stored.Rounds[0].Cycles), histograms[0].Settle.TotalCount())
		assert.Positive(t, histograms[0].Enqueue.TotalCount())
		latest, err := os.Readlink(filepath.Join(e.out, result.LatestLink))
		require.NoError(t, err)
		assert.Equal(t, r.Run, latest)
		assert.FileExists(t, filepath.Join(e.folder, result.RoundsFile))
		assert.FileExists(t, filepath.Join(e.folder, result.BenchFile))
	})
	t.Run("profiles can be read", func(t *testing.T) {
		require.Len(t, r.Profiles, 4)
		for i, kind := range []string{"mutex", "block", "mutex", "block"} {
			p := r.Profiles[i]
			assert.Equal(t, kind, p.Kind)
			assert.Equal(t, i >= 2, p.Node == result.GeneratorNode)
			data, err := os.ReadFile(filepath.Join(e.folder, p.File))
			require.NoError(t, err)
			parsed, err := profile.ParseData(data)
			require.NoError(t, err)
			require.NoError(t, parsed.CheckValid())
		}
		assert.Positive(t, r.Profiles[1].Total, "a queue server has goroutines that wait")
	})
	t.Run("the manifest is complete", func(t *testing.T) {
		data, err := os.ReadFile(filepath.Join(e.folder, result.ManifestFile))
		require.NoError(t, err)
		var m result.Manifest
		require.NoError(t, json.Unmarshal(data, &m))
		assert.Equal(t, []string{"prony", "run", "small.hcl"}, m.Command)
		assert.NotEmpty(t, m.Dir)
		assert.Len(t, m.Build.Server, 64, "a SHA-256")
		assert.NotEmpty(t, m.Build.GoVersion)
		assert.Positive(t, m.Host.CPUs)
		assert.NotEmpty(t, m.Host.Filesystem)
		assert.Positive(t, m.Host.FsyncMsMax)
		assert.Equal(t, "none", m.Durability())
		assert.Equal(t, "small", m.Scenario.Name)
		require.Len(t, m.Servers, 1)
		assert.Contains(t, m.Servers[0].Settings, result.ServerSetting{Name: "durability", Value: "none", Origin: "flag"})
		assert.Contains(t, m.Servers[0].Settings, result.ServerSetting{Name: "sync_interval", Value: "10ms", Origin: "default"})
	})
	t.Run("logs are kept", func(t *testing.T) {
		for _, name := range []string{"server-01.log", "server-02.log"} {
			text, err := os.ReadFile(filepath.Join(e.folder, logsDir, name))
			require.NoError(t, err)
			assert.Contains(t, string(text), "msg=serving", name)
			assert.Contains(t, string(text), "msg=stopped", name)
		}
	})
}

// Without captures there is no profiled round.
func TestExecuteTimedRoundsOnly(t *testing.T) {
	t.Parallel()
	s := small()
	s.Rounds, s.Topology.Listen, s.Topology.Durability = 2, "unix", "sync"
	e := execute(t, s, real(t))
	assert.Equal(t, result.Pass, e.result.Verdict, "%v", e.result.Reasons)
	assert.Len(t, e.result.Rounds, 2)
	assert.Empty(t, e.result.Profiles)
	assert.Equal(t, 2, e.result.Metrics[result.CyclesPerS].N)
}

func TestExecuteNeedsItsFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, _, err := Execute(t.Context(), small(), Options{Out: file, Server: queued})
	texts := golden.Cases(t, "testdata/folder.golden")
	texts.Replace(file, "FILE")
	texts.Error(t, "a file", err)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	sound := func(number int) result.Round {
		r := result.Round{Number: number, Verdict: result.Pass, Cycles: 10, WindowSeconds: 1, Metrics: map[string]float64{
			result.ServerCPUUsPerCycle: 1, result.ClientCPUUsPerCycle: 2, result.ServerRSSMBMax: 3, result.ServerCPUCores: 0.5,
		}}
		r.Derive(sampled(t))
		return r
	}
	incorrect := sound(2)
	incorrect.Verdict, incorrect.Reasons = result.Incorrect, []string{"lost its mind", "and a task"}
	bare := result.Round{Number: 2, Verdict: result.Pass}
	broken := result.Round{Number: 2, Verdict: result.Invalid, Reasons: []string{"the load failed"}}
	texts := golden.Cases(t, "testdata/judge.golden")
	for _, c := range []struct {
		name    string
		rounds  []result.Round
		verdict result.Verdict
		reasons int
	}{
		{"all pass", []result.Round{sound(1), sound(2)}, result.Pass, 0},
		{"the worst verdict counts", []result.Round{sound(1), incorrect}, result.Incorrect, 2},
		{"a metric is missing", []result.Round{sound(1), bare}, result.Invalid, 1},
		{"a missing metric is already explained", []result.Round{sound(1), broken}, result.Invalid, 1},
		{"no round at all", nil, result.Invalid, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &runner{scenario: small(), points: small().Plan(), references: newReferences(nil, reference.Config{}), result: result.Result{Rounds: c.rounds}}
			for _, round := range c.rounds {
				r.histograms = append(r.histograms, result.RoundHistograms{Round: round.Number, Histograms: sampled(t)})
			}
			r.judge()
			assert.Equal(t, c.verdict, r.result.Verdict)
			require.Len(t, r.result.Reasons, c.reasons, "%v", r.result.Reasons)
			texts.Equal(t, c.name, strings.Join(r.result.Reasons, "\n"))
			if c.verdict == result.Pass {
				assert.InDelta(t, 10, r.result.Metrics[result.CyclesPerS].Median, 0)
			}
		})
	}
}

// sampled returns histograms with one sample each.
func sampled(t *testing.T) result.Histograms {
	t.Helper()
	h := result.NewHistograms()
	for _, kind := range h.Kinds() {
		require.NoError(t, kind.Histogram.RecordValue(int64(time.Millisecond)))
	}
	return h
}

func TestServerFailed(t *testing.T) {
	t.Parallel()
	ended := &topology.ServerError{Problem: "the server ended by itself", Status: "exit status 1", Lines: []string{"panic: no"}}
	for _, c := range []struct {
		name   string
		err    error
		served bool
		want   result.Verdict
	}{
		{"it never served", ended, false, result.Misconfigured},
		{"it could not be started", errors.New("no such file"), false, result.Misconfigured},
		{"it died under load", errors.Join(errors.New("stop"), ended), true, result.Incorrect},
		{"something else went wrong", errors.New("remove the server's folder"), true, result.Invalid},
	} {
		verdict, reason := serverFailed(c.err, c.served)
		assert.Equal(t, c.want, verdict, c.name)
		assert.Equal(t, c.err.Error(), reason, c.name)
	}
}

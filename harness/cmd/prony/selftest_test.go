package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// madeUp measures arms on a host that is not there, where a planted nanosecond costs half a nanosecond of a cycle's 10 us, and stores
// them as run.Interleave does.
type madeUp struct {
	random   *rand.Rand
	at       time.Time
	deaf     bool // the server knows of no planted faults
	segments int
	fail     error // of the next segment
	ended    func()
}

func (h *madeUp) interleave(ctx context.Context, s *scenario.Scenario, arms []run.Arm, o run.ArmsOptions) (*run.Arms, error) {
	if h.fail != nil {
		return nil, h.fail
	}
	h.segments++
	folder, err := result.Create(o.Out, fmt.Sprintf("segment-%03d", h.segments))
	if err != nil {
		return nil, err
	}
	measured := &run.Arms{Folder: folder.Path(), Blocks: s.Rounds}
	for i, arm := range arms {
		r := &result.Result{Version: result.Version, Run: arm.Name, Scenario: s.Name, Verdict: result.Pass}
		var histograms []result.RoundHistograms
		for number := 1; number <= s.Rounds; number++ {
			cycleUs := 10.0
			if len(arm.Env) > 0 && !h.deaf {
				spin, err := time.ParseDuration(strings.TrimPrefix(arm.Env[0], "PRONY_PLANTED=cpu:"))
				if err != nil {
					return nil, err
				}
				cycleUs += spin.Seconds() * 1e6 / 2
			}
			cycleUs *= 1 + 0.01*h.random.NormFloat64()
			round := result.Round{
				Number: number, Verdict: result.Pass, Cycles: uint64(1e6 / cycleUs), WindowSeconds: 1,
				Started: h.at.Add(time.Duration(number*len(arms)+i) * 1500 * time.Millisecond),
				Metrics: map[string]float64{result.ServerCPUUsPerCycle: cycleUs, result.ClientCPUUsPerCycle: 5},
			}
			hist := result.NewHistograms()
			for _, kind := range hist.Kinds() {
				if err := kind.Histogram.RecordValues(int64(cycleUs*1e5), 100); err != nil {
					return nil, err
				}
			}
			round.Derive(hist)
			r.Rounds, histograms = append(r.Rounds, round), append(histograms, result.RoundHistograms{Round: number, Histograms: hist})
		}
		r.Metrics = map[string]result.Metric{result.CyclesPerS: {Median: r.Rounds[0].Metrics[result.CyclesPerS], N: 1}}
		of, err := result.Create(folder.Path(), arm.Name)
		if err != nil {
			return nil, err
		}
		if err := of.StoreArm(r, histograms); err != nil {
			return nil, err
		}
		measured.Arms = append(measured.Arms, result.Arm{Name: arm.Name, Path: of.Path(), Result: r, Histograms: histograms})
	}
	h.at = h.at.Add(time.Duration((s.Rounds+1)*len(arms)) * 1500 * time.Millisecond)
	if h.ended != nil {
		h.ended()
	}
	return measured, ctx.Err()
}

func selfTesting(t *testing.T, host *madeUp, bank string) *selfTestMeasuring {
	t.Helper()
	return &selfTestMeasuring{
		bank: bank, scenario: &scenario.Scenario{Name: "made-up", Rounds: 20}, server: server{path: queuedBinary}, stderr: &bytes.Buffer{},
		options: run.ArmsOptions{Options: run.Options{Out: bank}}, interleave: host.interleave,
	}
}

func newMadeUp() *madeUp {
	return &madeUp{random: rand.New(rand.NewPCG(61, 62)), at: time.Date(2026, 11, 21, 17, 15, 0, 0, time.UTC)}
}

// A bank that goes on where it was left, and what is judged of it.
func TestSelfTestBank(t *testing.T) {
	inFolder(t)
	host, bank := newMadeUp(), t.TempDir()
	m := selfTesting(t, host, bank)
	ctx, cancel := context.WithCancel(t.Context())
	host.ended = func() {
		if host.segments == 4 { // two trials, and two segments
			cancel()
		}
	}
	require.ErrorIs(t, m.until(ctx, time.Now().Add(time.Hour)), context.Canceled)
	require.Len(t, m.document.Slow, 2)
	for i, want := range []struct {
		arm  string
		spin float64 // ns: what makes a cycle of 10 us so much longer, where half of it counts
	}{{"slow-5", 2 * 10_000 * (1/0.95 - 1)}, {"slow-10", 2 * 10_000 * (1/0.9 - 1)}} {
		got := m.document.Slow[i]
		assert.Equal(t, want.arm, got.Arm)
		spin, err := time.ParseDuration(strings.TrimPrefix(got.Planted, "PRONY_PLANTED=cpu:"))
		require.NoError(t, err)
		assert.InEpsilon(t, want.spin, float64(spin.Nanoseconds()), 0.1)
	}

	host.ended = nil
	resumed := selfTesting(t, host, bank)
	host.ended = func() { host.fail = assert.AnError }
	require.ErrorIs(t, resumed.until(t.Context(), time.Now().Add(time.Hour)), assert.AnError)
	assert.Equal(t, m.document, resumed.document, "the arms stay what they were")
	assert.Equal(t, 5, host.segments, "no further trial is needed")

	require.NoError(t, os.MkdirAll(filepath.Join(bank, "segment-999", "a"), 0o755), "one that was interrupted")
	published := t.TempDir()
	got := prony(t, "gate", "selftest", "--for", "0", "--bank", bank, "--within", "45s", "--drawn", "6", "--publish", published, "--json")
	require.Equal(t, 0, got.code, got.stderr)
	var test gate.SelfTest
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &test))
	assert.Equal(t, 30, test.Blocks)
	assert.Equal(t, 10, test.PerTest, "45 s have ten blocks of three rounds of 1.5 s")
	for _, trial := range test.Trials {
		switch trial.Arm {
		case "identical":
			assert.Zero(t, trial.Regressed)
		default:
			assert.Equal(t, trial.Comparisons, trial.Regressed, "%v", trial)
		}
	}
	assert.InDelta(t, 0.9, test.Truths[1].Rate.Ratio, 0.01)
	assert.Contains(t, got.stderr, filepath.Join(published, "selftest.md"))
	for _, name := range []string{"selftest.md", "selftest.json"} {
		one, err := os.ReadFile(filepath.Join(bank, name))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(published, name))
		require.NoError(t, err)
		assert.Equal(t, string(one), string(other))
	}
	data, err := os.ReadFile(filepath.Join(published, "selftest.json"))
	require.NoError(t, err)
	assert.Equal(t, string(data), got.stdout)

	other := selfTesting(t, host, bank)
	other.scenario.Name = "another"
	require.ErrorContains(t, other.until(t.Context(), time.Now()), "is of another build or scenario")
	require.NoError(t, os.WriteFile(filepath.Join(bank, "segment-003", "b", result.ResultFile), []byte("{"), 0o600))
	got = prony(t, "gate", "selftest", "--for", "0", "--bank", bank)
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "corrupt", "what was finished must be readable")
}

// A server that can't be slowed down would make each miss look like a sound gate.
func TestSelfTestNeedsAServerThatCanBeSlowed(t *testing.T) {
	host := newMadeUp()
	host.deaf = true
	bank := t.TempDir()
	m := selfTesting(t, host, bank)
	require.ErrorContains(t, m.until(t.Context(), time.Now()), "was it built with planted faults?")
	assert.NoFileExists(t, filepath.Join(bank, bankFile))
}

func TestSelfTestCommandLine(t *testing.T) {
	inFolder(t)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--for", "-1s"}, "--for -1s"},
		{[]string{"--within", "0s"}, "--within 0s"},
		{[]string{"--drawn", "-1"}, "--drawn -1"},
		{[]string{"--for", "0", "--bank", "none"}, "read the bank"},
		{[]string{"--for", "1s", "--bank", "none"}, "find the repository"},
	} {
		got := prony(t, append([]string{"gate", "selftest"}, c.args...)...)
		assert.Equal(t, 2, got.code, c.args)
		assert.Contains(t, got.stderr, c.says)
	}
	require.NoError(t, os.WriteFile(bankFile, []byte(`{"version":1}`), 0o600))
	got := prony(t, "gate", "selftest", "--for", "0", "--bank", ".")
	assert.Equal(t, 2, got.code)
	assert.Contains(t, got.stderr, "has no finished segment")
}

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// byName is a judge that records which rounds it received.
func byName(arms []result.Arm) *result.Comparison {
	c := &result.Comparison{Version: result.Version, Verdict: result.Pass, Metrics: []result.MetricDelta{}}
	for _, a := range arms {
		for _, r := range a.Result.Rounds {
			if r.Timed() {
				c.Reasons = append(c.Reasons, a.Name)
			}
		}
	}
	return c
}

// Two builds and a second copy of the first one, on real servers: each has a run folder, rounds are
// interleaved, and no other files remain.
func TestCompareOnRealServers(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	s := small()
	s.Rounds = 2
	s.Captures, s.ProfiledRounds = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}, 2
	on := script(t, `echo "$ARM" >>"$(dirname "$0")/arms"`, "exec '"+queued+"' \"$@\"")
	arm := func(name string) Arm {
		return Arm{Name: name, Server: on.path, Env: []string{"ARM=" + name}, Build: &result.Build{Commit: "commit of " + name, Dirty: name == Change}}
	}
	out := t.TempDir()
	c, folder, err := Compare(t.Context(), s, []Arm{arm(Base), arm(Change), arm(Control)}, ArmsOptions{
		Options: Options{Out: out, Command: []string{"prony", "compare"}},
	}, byName)
	require.NoError(t, err)
	assert.Equal(t, result.Pass, c.Verdict)
	assert.Equal(t, []string{Base, Base, Change, Change, Control, Control}, c.Reasons, "two timed rounds of each, and no profiled ones")
	assert.Zero(t, c.Dropped)
	assert.False(t, c.Finished.Before(c.Started))
	assert.Len(t, on.started(t), 12, "each round has a separate server")

	names, err := os.ReadFile(filepath.Join(filepath.Dir(on.path), "arms"))
	require.NoError(t, err)
	assert.Equal(t, []string{Base, Change, Control, Control, Change, Base, Change, Control, Base, Base, Control, Change}, strings.Fields(string(names)),
		"every second block reverses the order, and every second pair begins with the next arm")

	stored, err := result.ReadComparison(folder)
	require.NoError(t, err)
	assert.Equal(t, c.Reasons, stored.Reasons)
	for _, name := range []string{Base, Change, Control} {
		a, err := result.ReadArm(name, filepath.Join(folder, name))
		require.NoError(t, err)
		assert.Equal(t, result.Pass, a.Result.Verdict, "%v", a.Result.Reasons)
		require.Len(t, a.Result.Rounds, 4)
		for i, r := range a.Result.Rounds {
			assert.Equal(t, i+1, r.Number)
			assert.Equal(t, i >= 2, r.Profiled)
		}
		assert.Len(t, a.Result.Profiles, 1)
		assert.Equal(t, "commit of "+name, a.Result.Manifest.Build.Commit)
		assert.Equal(t, name == Change, a.Side().Dirty)
		assert.Equal(t, 2, a.Side().Rounds)
		assert.Len(t, a.Side().Server, 64)
		assert.NoDirExists(t, filepath.Join(folder, name, result.DataDir))
	}
	assert.NoFileExists(t, filepath.Join(out, result.LatestLink), "an arm is not the latest run")
	assert.NoFileExists(t, filepath.Join(folder, result.LatestLink))
}

func TestInterleaveRefuses(t *testing.T) {
	t.Parallel()
	swept := small()
	swept.Points = make([]scenario.Point, 3)
	s := golden.Cases(t, "testdata/interleave.golden")
	for i, c := range []struct {
		s    *scenario.Scenario
		arms []Arm
	}{
		{swept, []Arm{{Name: "a"}, {Name: "b"}}},
		{small(), []Arm{{Name: "a"}}},
		{small(), []Arm{{Name: "a"}, {Name: "a"}}},
		{small(), []Arm{{Name: "a"}, {Name: "../b"}}},
		{small(), []Arm{{Name: "a"}, {Name: ""}}},
	} {
		out := t.TempDir()
		c0, folder, err := Compare(t.Context(), c.s, c.arms, ArmsOptions{Options: Options{Out: out}}, byName)
		s.Error(t, fmt.Sprint(i), err)
		assert.Nil(t, c0)
		assert.Empty(t, folder)
		left, err := os.ReadDir(out)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// A block that replaces a dropped one has the same order.
func TestDroppedBlocksHaveNoPlaceInTheOrder(t *testing.T) {
	t.Parallel()
	b := &bench{arms: make([]*runner, 2)}
	first := b.order(timed)
	assert.Equal(t, first, b.order(timed), "no block was stored in between")
	b.measured.Blocks++
	second := b.order(timed)
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, b.order(profiled))
	b.profiled++
	assert.Equal(t, second, b.order(profiled))
}

func TestOrderIsCounterbalanced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "arms")
		places := make([][]int, n)
		for i := range places {
			places[i] = make([]int, n)
		}
		for block := range 2 * n {
			arms := order(block, n)
			for place, arm := range arms {
				places[arm][place]++
			}
			sorted := slices.Sorted(slices.Values(arms))
			require.Equal(t, n, len(slices.Compact(sorted)), "each arm once")
			if block%2 == 1 {
				before := order(block-1, n)
				slices.Reverse(before)
				require.Equal(t, before, arms)
			}
		}
		for _, counts := range places {
			for _, count := range counts {
				require.Equal(t, 2, count, "each arm has each position equally often: %v", places)
			}
		}
	})
}

// acted is a bench of three arms whose rounds have the outcomes that act sets.
func acted(t *testing.T, s *scenario.Scenario, length time.Duration, act func(arm string, p plannedRound, m *measured)) *bench {
	t.Helper()
	folder, err := result.Create(t.TempDir(), "acted")
	require.NoError(t, err)
	b := newBench(folder, s, ArmsOptions{For: length}, time.Now())
	for _, name := range []string{Base, Change, Control} {
		require.NoError(t, b.add(s, Arm{Name: name, Server: queued}, time.Now()))
	}
	b.execute = func(_ context.Context, r *runner, p plannedRound) measured {
		m := measured{histograms: sampled(t), round: result.Round{
			Number: p.number, Profiled: p.kind == profiled, Calibration: p.kind == calibration, Verdict: result.Pass, Cycles: 10, WindowSeconds: 1,
			Metrics: map[string]float64{
				result.ServerCPUUsPerCycle: 1, result.ClientCPUUsPerCycle: 2, result.ServerRSSMBMax: 3, result.ServerCPUCores: 0.5,
			},
		}}
		act(r.folder.ID(), p, &m)
		m.round.Derive(m.histograms)
		r.calibrate(p, &m)
		return m
	}
	return b
}

func blocks(n int) *scenario.Scenario {
	s := small()
	s.Rounds = n
	return s
}

func numbers(a result.Arm) (timed []int) {
	for _, r := range a.Result.Rounds {
		if r.Timed() {
			timed = append(timed, r.Number)
		}
	}
	return timed
}

func TestInvalidRoundDropsItsBlock(t *testing.T) {
	t.Parallel()
	b := acted(t, blocks(4), 0, func(arm string, p plannedRound, m *measured) {
		if arm == Control && p.number == 2 {
			m.fault(result.Invalid, "a neighbour took the CPU")
		}
	})
	require.NoError(t, b.run(t.Context(), b.arms[0].scenario))
	assert.Equal(t, 4, b.measured.Blocks)
	assert.Equal(t, 1, b.measured.Dropped)
	assert.Equal(t, []string{"block 2 was dropped: control: a neighbour took the CPU"}, b.measured.Why)
	for _, a := range b.measured.Arms {
		assert.Equal(t, []int{1, 3, 4, 5}, numbers(a), "another block is measured instead, and no arm stores a round of the dropped one")
		assert.Equal(t, result.Pass, a.Result.Verdict)
	}
}

func TestInvalidProfiledRoundIsMeasuredAgain(t *testing.T) {
	t.Parallel()
	s := blocks(2)
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	for _, fit := range []bool{true, false} {
		b := acted(t, s, 0, func(_ string, p plannedRound, m *measured) {
			if p.kind == profiled && (p.number == 3 || !fit) {
				m.fault(result.Invalid, "the host is not fit")
			}
		})
		require.NoError(t, b.run(t.Context(), s))
		want := 3
		if !fit {
			want = 2
			assert.Len(t, b.measured.Why, 3, "the number of tries is bounded")
		}
		assert.Len(t, b.measured.Arms[0].Result.Rounds, want)
		assert.Zero(t, b.measured.Dropped, "no timed block was dropped")
	}
}

// Admit may end the comparison as soon as the settings of all arms are known, here after the second
// block: the first block is dropped after its first round.
func TestSettingsOfTheArms(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{nil, errors.New("their settings differ")} {
		b := acted(t, blocks(3), 0, func(_ string, p plannedRound, m *measured) {
			if p.number == 1 {
				m.fault(result.Invalid, "the host is not fit")
			}
		})
		execute := b.execute
		said := func(arm string) []result.ServerSettings {
			return []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "arm", Value: arm}}}}
		}
		b.execute = func(ctx context.Context, r *runner, p plannedRound) measured {
			r.result.Manifest.Servers = said(r.folder.ID())
			return execute(ctx, r, p)
		}
		asked := 0
		b.options.Admit = func(servers [][]result.ServerSettings) error {
			asked++
			assert.Equal(t, [][]result.ServerSettings{said(Base), said(Change), said(Control)}, servers)
			assert.Equal(t, 1, b.measured.Blocks)
			return refusal
		}
		require.ErrorIs(t, b.run(t.Context(), b.arms[0].scenario), refusal)
		assert.Equal(t, 1, asked)
		if refusal == nil {
			assert.Equal(t, 3, b.measured.Blocks)
		}
	}
}

func TestDroppedBlocksAreBounded(t *testing.T) {
	t.Parallel()
	b := acted(t, blocks(6), 0, func(arm string, p plannedRound, m *measured) {
		if arm == Base && p.number > 1 {
			m.fault(result.Invalid, "the host is not fit")
		}
	})
	require.NoError(t, b.run(t.Context(), b.arms[0].scenario))
	assert.Equal(t, 1, b.measured.Blocks)
	assert.Equal(t, droppedMax(6)+1, b.measured.Dropped)
}

// A comparison with too many dropped blocks is invalid, whatever the other blocks show.
func TestCompareOfDroppedBlocksIsInvalid(t *testing.T) {
	t.Parallel()
	c := &result.Comparison{Version: result.Version, Verdict: result.Regressed}
	finishComparison(c, &Arms{Blocks: 1, Dropped: 4, Why: []string{"block 2 was dropped: base: the host is not fit"}}, 6)
	assert.Equal(t, result.Invalid, c.Verdict)
	assert.Contains(t, c.Reasons[0], "4 blocks were dropped")
	assert.Equal(t, []string{"block 2 was dropped: base: the host is not fit"}, c.Warnings)
	c = &result.Comparison{Version: result.Version, Verdict: result.Regressed}
	finishComparison(c, &Arms{Blocks: 6, Dropped: 3}, 6)
	assert.Equal(t, result.Regressed, c.Verdict)
	assert.Equal(t, 3, c.Dropped)
}

// A change that repeatedly makes its rounds invalid is judged for it.
func TestInvalidRoundsOfTheChangeAreJudged(t *testing.T) {
	t.Parallel()
	s := golden.Cases(t, "testdata/invalidrounds.golden")
	for name, c := range map[string]struct {
		invalid func(arm string, number int) bool
		verdict result.Verdict
	}{
		"the host, now and then": {
			func(arm string, number int) bool { return number == 3 && arm == Change || number == 7 && arm == Base },
			result.Pass,
		},
		"the change, half of its rounds": {
			func(arm string, number int) bool { return arm == Change && number%2 == 1 }, result.Regressed,
		},
		"the base, half of its rounds": {
			func(arm string, number int) bool { return arm == Base && number%2 == 1 }, result.Invalid,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := acted(t, blocks(16), 0, func(arm string, p plannedRound, m *measured) {
				if c.invalid(arm, p.number) {
					m.fault(result.Invalid, "it did not hold still")
				}
			})
			require.NoError(t, b.run(t.Context(), b.arms[0].scenario))
			judged := &result.Comparison{Verdict: result.Pass, Blocks: b.measured.Blocks}
			finishComparison(judged, &b.measured, 16)
			assert.Equal(t, c.verdict, judged.Verdict)
			s.Equal(t, name, strings.Join(append(judged.Reasons, judged.Warnings...), "\n"))
		})
	}
}

func TestInvalidRoundsThatChanceHardlyExplains(t *testing.T) {
	t.Parallel()
	tried := []result.Tried{{Name: Base, Rounds: 4}, {Name: Change, Rounds: 5, Invalid: 3}, {Name: Control, Rounds: 3}}
	c := &result.Comparison{Verdict: result.Pass, Tried: tried}
	JudgeDropped(c, 4)
	assert.Equal(t, result.Inconclusive, c.Verdict)
	assert.Equal(t, []string{"3 of 5 rounds of the change were invalid, and 0 of 7 of the others (p = 0.0455): the change may be at fault"}, c.Reasons)
}

func TestFailedServerEndsTheComparison(t *testing.T) {
	t.Parallel()
	for _, verdict := range []result.Verdict{result.Incorrect, result.Misconfigured, result.Invalid} {
		carried := 0
		s := blocks(5)
		s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
		b := acted(t, s, 0, func(arm string, p plannedRound, m *measured) {
			carried++
			if arm == Change && p.number == 2 {
				m.broken = verdict == result.Invalid
				m.fault(verdict, "it failed")
			}
		})
		require.NoError(t, b.run(t.Context(), s))
		assert.Equal(t, 5, carried, "three rounds, and two up to the failure: the failure is the last one")
		assert.Equal(t, 1, b.measured.Blocks)
		for _, a := range b.measured.Arms {
			if a.Name == Change {
				assert.Equal(t, verdict, a.Result.Verdict)
				assert.Contains(t, a.Result.Reasons[0], "it failed")
			} else {
				assert.Equal(t, result.Pass, a.Result.Verdict)
			}
		}
	}
}

// Options.For bounds the timed rounds but not the profiled ones.
func TestTimeEndsTheBlocks(t *testing.T) {
	t.Parallel()
	s := blocks(1000)
	s.Captures = []scenario.Capture{{Kind: "mutex", MutexFraction: 1}}
	b := acted(t, s, time.Nanosecond, func(string, plannedRound, *measured) {})
	require.NoError(t, b.run(t.Context(), s))
	assert.Equal(t, 2, b.measured.Blocks, "at least two are measured")
	for _, a := range b.measured.Arms {
		require.Len(t, a.Result.Rounds, 3)
		assert.True(t, a.Result.Rounds[2].Profiled)
	}
}

// All arms have the same part of the same peak, which the first arm finds.
func TestArmsShareThePeak(t *testing.T) {
	t.Parallel()
	s := blocks(2)
	s.Workloads[0].Arrivals = scenario.Arrivals{Kind: scenario.Open, Rate: scenario.Rate{OfPeak: 0.5}}
	var calibrated []string
	b := acted(t, s, 0, func(arm string, p plannedRound, m *measured) {
		if p.kind == calibration {
			calibrated = append(calibrated, arm)
			m.round.Cycles = 1000
		}
	})
	require.NoError(t, b.run(t.Context(), s))
	assert.Equal(t, []string{Base}, calibrated)
	for _, r := range b.arms {
		assert.Equal(t, []float64{1000}, r.peaks)
	}
	for _, a := range b.measured.Arms {
		assert.Equal(t, []int{2, 3}, numbers(a))
	}
}

func TestInterruptedComparison(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := acted(t, blocks(3), 0, func(arm string, _ plannedRound, _ *measured) {
		if arm == Change {
			cancel()
		}
	})
	err := b.run(ctx, b.arms[0].scenario)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "interrupted in round 1 of change")
	require.NoError(t, b.clean())
	for _, name := range []string{Base, Change, Control} {
		assert.NoDirExists(t, filepath.Join(b.measured.Folder, name, result.DataDir))
	}
}

// The arms of a comparison share their references, measured before the first block and after each
// one.
func TestArmsShareTheirReferences(t *testing.T) {
	t.Parallel()
	s := blocks(2)
	s.References = []string{scenario.ReferenceCPU}
	var order []string
	b := acted(t, s, 0, func(arm string, _ plannedRound, _ *measured) { order = append(order, arm) })
	b.arms[0].references.measure = func(_ context.Context, name string) (result.ReferenceSample, error) {
		order = append(order, name)
		return result.ReferenceSample{PerS: float64(len(order)), CPUUs: 1}, nil
	}
	require.NoError(t, b.run(t.Context(), s))
	assert.Equal(t, []string{"cpu", Base, Change, Control, "cpu", Control, Change, Base, "cpu"}, order)
	for _, arm := range b.arms {
		require.Len(t, arm.result.References, 1)
		assert.Equal(t, result.Metric{Median: 5, Low: 1, High: 9, N: 3, Unit: "1/s"}, arm.result.References[0].PerS)
	}
}

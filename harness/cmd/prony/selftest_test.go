package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// madeUp simulates duets on a host on which a step costs a nanosecond of CPU time and of the time
// between cycles, which are 10 us each.
type madeUp struct {
	random *rand.Rand
	at     time.Time
	deaf   bool // the server ignores planted faults
	duets  []string
	fail   error // error of the next duet
	// programs are the paths of the servers of all duets with generations.
	programs []string
	ended    func()
}

// steps returns the number of steps that an environment plants.
func (h *madeUp) steps(t *testing.T, env []string) float64 {
	if len(env) == 0 || h.deaf {
		return 0
	}
	fault, amount, _ := strings.Cut(strings.TrimPrefix(env[0], "PRONY_PLANTED="), ":")
	scale := map[string]float64{"work": 1, "client": 1, "background": 1, "alloc": 0.5, "wait": 1, "fsync": 1e6}[fault]
	if per, ok := strings.CutPrefix(amount, "1/"); ok {
		n, err := strconv.ParseFloat(per, 64)
		require.NoError(t, err)
		return scale / n
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(amount, "ns"), 64)
	require.NoError(t, err)
	return n * scale
}

func (h *madeUp) duet(t *testing.T) func(context.Context, *scenario.Scenario, [2]duet.Side, duet.Options) (*result.Duet, string, error) {
	return func(ctx context.Context, s *scenario.Scenario, sides [2]duet.Side, o duet.Options) (*result.Duet, string, error) {
		if h.fail != nil {
			return nil, "", h.fail
		}
		h.duets = append(h.duets, strings.Join(append(sides[1].Env, sides[1].GeneratorEnv...), " "))
		d := &result.Duet{Version: result.DuetVersion, Scenario: s.Name, Started: h.at, Finished: h.at.Add(o.Within), Manifest: result.Manifest{Scenario: *s}}
		h.at = h.at.Add(o.Within)
		for i, side := range sides {
			d.Sides[i] = result.DuetSide{Name: side.Name, Commit: side.Build.Commit, Env: append(side.Env, side.GeneratorEnv...)}
		}
		if !o.WorkOnly {
			for i, side := range sides {
				d.Sides[i].Servers = h.contents(t, side.Servers)
			}
		}
		generations := o.Generations
		if generations == 0 {
			generations = 15
		}
		if o.WorkOnly {
			h.at = h.at.Add(10 * time.Second)
			d.Work = &result.FixedWork{Cycles: 1000, Counters: map[string][2]float64{result.WorkStorageSets: {2000, 2000}, result.WorkCalls: {1000, 1000}}}
			return d, "", nil
		}
		assert.Equal(t, 1, o.Looks)
		const cycles = 100_000
		for number := 1; number <= generations; number++ {
			g := result.Generation{Number: number, Seconds: 6, Verdict: result.Pass, Slices: []result.Slice{{Cycles: 1}}}
			for i, side := range sides {
				noise := func() float64 { return 1 + 0.01*h.random.NormFloat64() }
				server, client := 10_000+h.steps(t, side.Env), 10_000+h.steps(t, side.GeneratorEnv)
				g.Sides[i] = result.GenerationSide{
					Cycles: cycles, ServerCPUNs: int64(cycles * server * noise()), ClientCPUNs: int64(cycles * client * noise()),
					ActiveS: cycles * server * noise() / 1e9, Stages: []result.Stage{{Name: result.StageDecide}}, PerCycle: map[string]float64{"fsyncs": 1},
				}
			}
			d.Generations = append(d.Generations, g)
		}
		if h.ended != nil {
			h.ended()
		}
		return d, "", ctx.Err()
	}
}

// contents returns the contents of the servers' files. The files must be executable.
func (h *madeUp) contents(t *testing.T, servers []string) (all []string) {
	for _, path := range servers {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode(), "the file is executable")
		all = append(all, string(data))
	}
	h.programs = append(h.programs, servers...)
	return all
}

// arms simulates runs of servers on that host.
func (h *madeUp) arms(t *testing.T) func(context.Context, *scenario.Scenario, []run.Arm, run.ArmsOptions) (*run.Arms, error) {
	return func(_ context.Context, s *scenario.Scenario, arms []run.Arm, _ run.ArmsOptions) (*run.Arms, error) {
		measured := &run.Arms{}
		for _, a := range arms {
			rate := 1e9 / (10_000 + h.steps(t, a.Env))
			r := &result.Result{
				Version: result.Version, Scenario: s.Name, Verdict: result.Pass, Started: h.at, Finished: h.at.Add(time.Minute), Manifest: result.Manifest{Build: *a.Build},
				Metrics: map[string]result.Metric{
					result.CyclesPerS: {Median: rate, N: 3, Low: rate, High: rate},
					result.Lost:       {N: 3}, result.Duplicated: {N: 3}, result.Corrupted: {N: 3},
				},
			}
			measured.Arms = append(measured.Arms, result.Arm{Name: a.Name, Result: r})
		}
		h.at = h.at.Add(time.Minute)
		return measured, nil
	}
}

func newMadeUp() *madeUp {
	return &madeUp{random: rand.New(rand.NewPCG(61, 62)), at: time.Date(2026, 11, 23, 4, 50, 0, 0, time.UTC)}
}

func selfTesting(t *testing.T, host *madeUp, bank string, kinds ...string) *selfTestMeasuring {
	t.Helper()
	programs := t.TempDir()
	program := func(name string) string {
		path := filepath.Join(programs, "queued-"+name)
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
		return path
	}
	return &selfTestMeasuring{
		bank: bank, scenario: &scenario.Scenario{Name: "made-up"}, smoke: &scenario.Scenario{Name: "smoke"}, within: 90 * time.Second, kinds: kinds,
		built:  selfTestBuilt{base: []string{program("a"), program("b")}, layout: []string{program("c"), program("d")}, generator: "g", build: result.Build{Commit: "0123456789"}},
		stderr: &bytes.Buffer{}, now: func() time.Time { return host.at }, conditions: duet.Conditions{OpenPairs: 10}, duet: host.duet(t), arms: host.arms(t),
	}
}

// minutes measures for n minutes of simulated time.
func minutes(t *testing.T, m *selfTestMeasuring, n int) error {
	return m.until(t.Context(), m.now().Add(time.Duration(n)*time.Minute))
}

func bankedKinds(t *testing.T, bank string) map[string]int {
	t.Helper()
	_, documents, err := readPieces(bank)
	require.NoError(t, err)
	have := map[string]int{}
	for _, d := range documents {
		have[d.Kind]++
	}
	return have
}

func TestSelfTestBankAddsUp(t *testing.T) {
	inFolder(t)
	host, bank := newMadeUp(), t.TempDir()
	require.NoError(t, minutes(t, selfTesting(t, host, bank, "identical", "layout", "cpu-10"), 15))
	assert.Equal(t, map[string]int{"identical": 4, "layout": 2, "cpu-10": 2}, bankedKinds(t, bank), "identical builds have twice the wanted number")

	calibrations, err := readCalibrations(bank)
	require.NoError(t, err)
	require.Len(t, calibrations, 2, "of CPU time, and of the rate for check")
	assert.InDelta(t, 10_000*0.2, calibrations[0].For(0.2, nil), 200)

	host.fail = assert.AnError
	require.ErrorIs(t, minutes(t, selfTesting(t, host, bank), 1), assert.AnError)
	host.fail = nil
	ctx, cancel := context.WithCancel(t.Context())
	host.ended = cancel
	require.ErrorIs(t, selfTesting(t, host, bank, "identical").until(ctx, host.at), context.Canceled)
	host.ended = nil
	assert.Len(t, bankedKinds(t, bank), 3)
	entries, err := os.ReadDir(bank)
	require.NoError(t, err)
	assert.Len(t, entries, 9, "eight pieces and the calibration, and nothing of the interrupted piece")

	night := selfTesting(t, host, bank, "cpu-10", "counters", "check")
	night.built.build.Commit = "9876543210"
	before := len(host.duets)
	require.NoError(t, minutes(t, night, 20))
	assert.Equal(t, map[string]int{"identical": 4, "layout": 2, "cpu-10": 11, "check": 1, "counters": 3}, bankedKinds(t, bank), "the kind with the smallest share is next")
	assert.Len(t, host.duets, before+9+3*gate.CounterPairs, "no further calibration is needed")

	require.NoError(t, os.Mkdir("baselines", 0o755))
	require.NoError(t, os.WriteFile(filepath.Join("baselines", "smoke.hcl"), []byte(
		"baseline \"smoke\" {\n  floor \"cycles_per_s\" {\n    min = 60000\n    because = \"it is a test\"\n  }\n}\n"), 0o600))
	published := t.TempDir()
	got := prony(t, "gate", "selftest", "--for", "0", "--bank", bank, "--drawn", "6", "--publish", published, "--json")
	require.Equal(t, 0, got.code, got.stderr)
	var test gate.SelfTest
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &test))
	assert.InDelta(t, 90, test.Within, 0)
	require.Len(t, test.Commits, 2)
	require.Len(t, test.Kinds, 3)
	for _, k := range test.Kinds {
		trial, ok := k.Trial(1, true)
		require.True(t, ok)
		if k.Same() {
			assert.Zero(t, trial.Red(), k.Name)
			continue
		}
		assert.Equal(t, 11, trial.Red(), k.Name)
		f, ok := k.Figure(k.Metric)
		require.True(t, ok)
		assert.InDelta(t, 0.1, f.Loss, 0.01)
	}
	require.Len(t, test.Counters, 2)
	assert.Equal(t, gate.SelfTestCounter{
		Metric: result.WorkStorageSets + "_per_cycle", Pairs: 30, Since: 30, Called: 30, FalseMost: test.Counters[0].FalseMost, CalledLeast: test.Counters[0].CalledLeast,
	}, test.Counters[0])
	require.Len(t, test.Checks, len(gate.CheckLosses))
	from, ok := gate.CheckCallsFrom(test.Checks)
	assert.True(t, ok)
	assert.InDelta(t, 0.5, from, 0)
	again := t.TempDir()
	require.Equal(t, 0, prony(t, "gate", "selftest", "--for", "0", "--bank", bank, "--drawn", "6", "--publish", again).code)
	for _, name := range []string{selfTestPage, selfTestData, "selftest-power.svg"} {
		assert.NoFileExists(t, filepath.Join(bank, name), "the bank only has measurements")
		one, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		other, err := os.ReadFile(filepath.Join(published, name))
		require.NoError(t, err)
		assert.Equal(t, string(one), string(other), "the page is determined by the bank")
	}
}

// Pieces with another load or other lengths cannot be judged with the others.
func TestSelfTestJudgesPiecesThatFitTheNewest(t *testing.T) {
	inFolder(t)
	host, bank := newMadeUp(), t.TempDir()
	require.NoError(t, minutes(t, selfTesting(t, host, bank, "identical"), 1))
	short := selfTesting(t, host, bank, "identical")
	short.within = 30 * time.Second
	require.NoError(t, minutes(t, short, 1))
	other := selfTesting(t, host, bank, "identical")
	other.scenario = &scenario.Scenario{Name: "made-up", Title: "the load counts, not the title", Topology: scenario.Topology{Shards: 2}}
	require.NoError(t, minutes(t, other, 1))
	other.scenario.Title = ""
	other.conditions.OpenPairs++
	require.NoError(t, minutes(t, other, 1))
	other.conditions.OpenPairs--
	other.conditions.CPUs = "each has its own"
	require.NoError(t, minutes(t, other, 1))
	other.conditions.CPUs = ""
	require.NoError(t, minutes(t, other, 1))
	require.NoError(t, minutes(t, selfTesting(t, host, bank, "counters"), 1))
	other.kinds = []string{"counters"}
	require.NoError(t, minutes(t, other, 1))
	got := prony(t, "gate", "selftest", "--for", "0", "--bank", bank, "--json")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Contains(t, got.stderr, "skipped 6 pieces whose scenario, look, slice or phase lengths, or CPU assignment differ from the newest piece")
	var test gate.SelfTest
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &test))
	assert.Equal(t, 2, test.Kinds[0].Pieces)
	assert.Equal(t, gate.CounterPairs, test.Counters[0].Pairs)
}

// The choice of the next kind ignores pieces with other conditions.
func TestSelfTestCountsPiecesThatFitTheNext(t *testing.T) {
	host, bank := newMadeUp(), t.TempDir()
	old := selfTesting(t, host, bank, "identical", "layout")
	require.NoError(t, minutes(t, old, 5))
	assert.Equal(t, map[string]int{"identical": 2, "layout": 1}, bankedKinds(t, bank))
	old.conditions.CPUs = "each has its own"
	require.NoError(t, minutes(t, old, 1))
	assert.Equal(t, map[string]int{"identical": 3, "layout": 1}, bankedKinds(t, bank), "the first piece of the new conditions")

	slower := selfTesting(t, host, bank, "cpu-10")
	calibrated := func() []gate.SelfTestCalibration {
		require.NoError(t, minutes(t, slower, 1))
		all, err := readCalibrations(bank)
		require.NoError(t, err)
		return all
	}
	assert.Len(t, calibrated(), 2, "of CPU time and of the rate")
	assert.Len(t, calibrated(), 2)
	slower.conditions.CPUs = "each has its own"
	assert.Len(t, calibrated(), 4, "a calibration belongs to its conditions")
}

// Each fault is planted on the change's side, in the right process, with an amount that causes the
// wanted loss.
func TestSelfTestPlantsAllKinds(t *testing.T) {
	host, bank := newMadeUp(), t.TempDir()
	for _, kind := range gate.SelfTestKinds() {
		require.NoError(t, minutes(t, selfTesting(t, host, bank, kind.Name), 1), kind.Name)
	}
	stored, _, err := readBank(bank)
	require.NoError(t, err)
	test, err := gate.RunSelfTest(stored.SelfTestBank, gate.SelfTestPlan{Within: 90, Policy: gate.DefaultDuetPolicy()})
	require.NoError(t, err)
	require.Len(t, test.Kinds, len(gate.SelfTestKinds()))
	for i, k := range test.Kinds {
		if f, ok := k.Figure(k.Metric); ok {
			assert.InDelta(t, k.Loss, f.Loss, 0.015, "%s: %v", k.Name, k.Planted)
		}
		for _, p := range stored.Pieces[i].Duet.Generations {
			assert.Empty(t, p.Slices)
			assert.Nil(t, p.Sides[1].Stages)
			assert.Nil(t, p.Sides[1].PerCycle)
		}
	}
	assert.Equal(t, []string{"c", "d"}, stored.Pieces[1].Duet.Sides[1].Servers, "the layouts of the change differ from those of the base")
	assert.Equal(t, []string{"a", "b"}, stored.Pieces[0].Duet.Sides[1].Servers)
	slices.Sort(host.programs)
	assert.Len(t, slices.Compact(slices.Clone(host.programs)), len(host.programs), "each side of each duet has its own files")
	for _, path := range host.programs {
		assert.NoFileExists(t, path)
	}
	for fault := range faultUnits {
		assert.NotEmpty(t, gate.CalibrationMetrics(fault), fault)
	}
}

// A server that cannot be slowed would make each miss look like a correct gate.
func TestSelfTestNeedsAServerThatCanBeSlowed(t *testing.T) {
	host, bank := newMadeUp(), t.TempDir()
	host.deaf = true
	sheet(t).Error(t, "a server that is not slowed", minutes(t, selfTesting(t, host, bank, "cpu-5"), 1))
	assert.Len(t, host.duets, calibrationTries)
	assert.NoFileExists(t, filepath.Join(bank, calibrationFile))
	assert.Empty(t, bankedKinds(t, bank))
}

func TestPlantingIsAWholeNumber(t *testing.T) {
	for _, c := range []struct {
		fault   string
		amount  float64
		text    string
		planted float64
	}{
		{"work", 499.6, "work:500", 500},
		{"work", 0.01, "work:1", 1},
		{"wait", 312.4, "wait:312ns", 312},
		{"fsync", 0.003, "fsync:1/333", 1.0 / 333},
		{"fsync", 5, "fsync:1/1", 1},
		{"client", 1e12, fmt.Sprintf("client:%d", 1<<22), 1 << 22},
	} {
		text, planted := planting(c.fault, c.amount)
		assert.Equal(t, "PRONY_PLANTED="+c.text, text)
		assert.InEpsilon(t, c.planted, planted, 1e-12)
	}
}

func TestDamagedPieces(t *testing.T) {
	inFolder(t)
	s := sheet(t)
	require.NoError(t, os.Mkdir("20261123T045000.000Z-identical", 0o755))
	for _, text := range []string{"{", `{"version":9}`} {
		require.NoError(t, os.WriteFile(filepath.Join("20261123T045000.000Z-identical", pieceFile), []byte(text), 0o600))
		refused(t, s, "a piece of "+text, prony(t, "gate", "selftest", "--for", "0", "--bank", "."))
	}
}

// The error names a server that cannot be copied. A copy does not replace an existing file.
func TestNewCopiesFail(t *testing.T) {
	folder := t.TempDir()
	_, err := newCopies(folder, []string{filepath.Join(folder, "none")})
	require.ErrorIs(t, err, os.ErrNotExist)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	assert.Equal(t, filepath.Join(folder, "none"), path.Path)
	there := filepath.Join(folder, "queued")
	require.NoError(t, os.WriteFile(there, []byte("there"), 0o600))
	_, err = newCopies(folder, []string{there})
	require.ErrorIs(t, err, os.ErrExist)
}

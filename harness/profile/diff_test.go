package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func cpuTypes() []*profile.ValueType {
	return []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
}

// cpuRound is a CPU profile of 1000 cycles in which the functions hot and rare have the given
// number of samples, and two others have 400 and 1.
func cpuRound(hot, rare int64) PerRound {
	const each = 10_000_000
	return PerRound{Cycles: 1000, Profiles: map[string]*profile.Profile{"cpu": build(
		cpuTypes(),
		stack{[]string{"hot", "caller", "main"}, []int64{hot, hot * each}},
		stack{[]string{"steady", "main"}, []int64{400, 400 * each}},
		stack{[]string{"rare", "main"}, []int64{rare, rare * each}},
	)}}
}

func TestDiffTellsWhatChanged(t *testing.T) {
	base := []PerRound{cpuRound(100, 0), cpuRound(110, 1), cpuRound(105, 0)}
	change := []PerRound{cpuRound(300, 1), cpuRound(290, 1), cpuRound(310, 2)}
	deltas, err := Diff(base, change)
	require.NoError(t, err)
	require.Len(t, deltas, 1, "%+v", deltas)
	d := deltas[0]
	assert.Equal(t, "hot", d.Function)
	assert.Equal(t, "cpu", d.Kind)
	assert.Equal(t, "nanoseconds", d.Unit)
	assert.InDelta(t, 105*10_000, d.Base, 1, "per cycle")
	assert.InDelta(t, 300*10_000, d.Change, 1)
	assert.InDelta(t, 300*10_000, d.ChangeCum, 1)
	assert.Positive(t, d.Low)
	assert.Less(t, d.Low, d.Change-d.Base)
	assert.Greater(t, d.High, d.Change-d.Base)

	back, err := Diff(change, base)
	require.NoError(t, err)
	require.Len(t, back, 1)
	assert.Negative(t, back[0].High)
	same, err := Diff(base, base)
	require.NoError(t, err)
	assert.Empty(t, same)
}

func TestDiffLeavesOutWhatIsIdle(t *testing.T) {
	round := func(idle, full int64) PerRound {
		return PerRound{Cycles: 10, Profiles: map[string]*profile.Profile{"block": build(
			delayTypes(),
			stack{[]string{"runtime.selectgo", shardPath + "(*Shard).wait", shardPath + "(*Shard).decide"}, []int64{1000, idle}},
			stack{[]string{"runtime.chansend1", shardPath + "(*Shard).pass", shardPath + "(*Shard).decide"}, []int64{1000, full}},
		)}}
	}
	deltas, err := Diff([]PerRound{round(1e9, 1000), round(1e9, 1010)}, []PerRound{round(1e6, 9000), round(1e6, 9010)})
	require.NoError(t, err)
	require.Len(t, deltas, 2)
	assert.Equal(t, shardPath+"(*Shard).pass", deltas[0].Function)
	assert.Equal(t, KindLock, deltas[1].Kind)
	assert.Equal(t, "shard.(*Shard).pass", deltas[1].Function, "the function names a lock without a known name")
}

func TestDiffThatThereIsNot(t *testing.T) {
	two := []PerRound{cpuRound(1, 1), cpuRound(1, 1)}
	for _, side := range [][]PerRound{nil, two[:1], {two[0], {Cycles: 0, Profiles: two[0].Profiles}}} {
		_, err := Diff(two, side)
		require.ErrorIs(t, err, ErrTooFewRounds)
		_, err = Diff(side, two)
		require.ErrorIs(t, err, ErrTooFewRounds)
	}
	deltas, err := Diff(two, []PerRound{cpuRound(900, 1), {Cycles: 1}})
	require.NoError(t, err)
	assert.Empty(t, deltas, "a kind that a round lacks is not compared")
	broken := []PerRound{cpuRound(1, 1), {Cycles: 1, Profiles: map[string]*profile.Profile{"cpu": build(delayTypes())}}}
	_, err = Diff(two, broken)
	golden.Cases(t, "testdata/diff.golden").Error(t, "no values", err)
}

// Merge sums the profiles of rounds and nodes, and Rounds reads them round by round.
func TestMergeAndRounds(t *testing.T) {
	runDir := t.TempDir()
	s := golden.Cases(t, "testdata/merge.golden")
	s.Replace(runDir, "RUN")
	var captured []Captured
	r := &result.Result{}
	for i, hot := range []int64{10, 20, 40} {
		number := i + 4
		r.Rounds = append(r.Rounds, result.Round{Number: number, Point: 1, Profiled: true, Cycles: 1000, Verdict: result.Pass})
		for _, node := range []string{"n1", "n2"} {
			of := Source{Round: number, Point: 1, Node: node}
			dir := filepath.Join(runDir, of.Dir())
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, writeProfile(filepath.Join(dir, "cpu.pb.gz"), cpuRound(hot, 0).Profiles["cpu"]))
			require.NoError(t, writeProfile(filepath.Join(dir, "goroutine.pb.gz"), build(
				[]*profile.ValueType{{Type: "goroutine", Unit: "count"}}, stack{[]string{"f"}, []int64{hot}},
			)))
			captured = append(captured, Captured{of, map[string]uint64{"cpu": 1000, "goroutine": 1000}})
		}
	}
	profiles, locks, err := Merge(runDir, captured)
	require.NoError(t, err)
	assert.Empty(t, locks)
	require.Len(t, profiles, 4)
	cpu := profiles[0]
	assert.Equal(t, "profiles/point-1/n1/cpu.pb.gz", cpu.File)
	assert.Equal(t, 3, cpu.Rounds)
	assert.EqualValues(t, 3000, cpu.Cycles)
	assert.InDelta(t, (70+1200)*1e7, cpu.Total, 0)
	assert.InDelta(t, 40, profiles[1].Total, 0, "goroutines are not summed")
	assert.Equal(t, "n2", profiles[2].Node)
	merged, err := readFile(filepath.Join(runDir, cpu.File))
	require.NoError(t, err)
	assert.EqualValues(t, 70e7, sumOf(t, merged, "cpu", "hot"))

	r.Profiles = profiles
	rounds, err := Rounds(runDir, r, 1)
	require.NoError(t, err)
	require.Len(t, rounds, 3)
	assert.EqualValues(t, 2*40e7, sumOf(t, rounds[2].Profiles["cpu"], "cpu", "hot"), "of both nodes")
	none, err := Rounds(runDir, r, 0)
	require.NoError(t, err)
	assert.Empty(t, none)
	r.Rounds[0].Verdict = result.Invalid
	rounds, err = Rounds(runDir, r, 1)
	require.NoError(t, err)
	assert.Len(t, rounds, 2, "an invalid round is ignored")
	require.NoError(t, os.Remove(filepath.Join(runDir, Source{Round: 5, Point: 1, Node: "n1"}.Dir(), "cpu.pb.gz")))
	_, err = Rounds(runDir, r, 1)
	s.Error(t, "a missing profile", err)
	_, _, err = Merge(filepath.Join(runDir, "nowhere"), nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(runDir, captured[0].Dir(), "cpu.pb.gz"), []byte("nonsense"), 0o600))
	_, _, err = Merge(runDir, captured)
	s.Error(t, "a broken profile", err)
}

// A run of an earlier version has one profiled round without a separate folder.
func TestRoundsOfAnEarlierVersion(t *testing.T) {
	runDir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(runDir, "profiles"), 0o755))
	require.NoError(t, writeProfile(filepath.Join(runDir, "profiles", "cpu.pb.gz"), cpuRound(7, 0).Profiles["cpu"]))
	r := &result.Result{
		Rounds:   []result.Round{{Number: 4, Profiled: true, Cycles: 5}},
		Profiles: []result.Profile{{Kind: "cpu", File: "profiles/cpu.pb.gz"}},
	}
	rounds, err := Rounds(runDir, r, 0)
	require.NoError(t, err)
	require.Len(t, rounds, 1)
	assert.EqualValues(t, 7e7, sumOf(t, rounds[0].Profiles["cpu"], "cpu", "hot"))
}

// sumOf sums the values of a sample type over the samples of a function.
func sumOf(t *testing.T, p *profile.Profile, sampleType, function string) int64 {
	t.Helper()
	index, err := valueIndex(p, sampleType)
	require.NoError(t, err)
	var total int64
	for _, s := range p.Sample {
		if frames(s)[0] == function {
			total += s.Value[index]
		}
	}
	require.Positive(t, total, fmt.Sprintf("no %s", function))
	return total
}

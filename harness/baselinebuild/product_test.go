package baselinebuild

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// moves returns a file whose builds have the given ratios of one metric, after a first build
// without ratios. Build i has the commit "i".
func moves(metric string, ratios ...float64) *File {
	f := &File{Builds: []Build{{Commit: "0"}}}
	for i, v := range ratios {
		f = f.With(Build{Commit: strconv.Itoa(i + 1), Ratios: []Ratio{{"smoke", metric, v}}})
	}
	return f
}

// only returns the single product of a file.
func only(t require.TestingT, f *File) Product {
	all := f.Products()
	require.Len(t, all, 1)
	return all[0]
}

func TestProducts(t *testing.T) {
	f := &File{Builds: []Build{
		{Commit: one},
		{Commit: two, Ratios: []Ratio{{"smoke", "server_cpu_us_per_cycle", 0.8}, {"raft", "cycles_per_s", 0.9}}},
		{Commit: three, Ratios: []Ratio{{"smoke", "cycles_per_s", 1.1}, {"smoke", "server_cpu_us_per_cycle", 1.25}}},
	}}
	all := f.Products()
	require.Len(t, all, 3)
	var names []string
	for _, p := range all {
		names = append(names, p.Scenario+" "+p.Metric)
	}
	assert.Equal(t, []string{"smoke cycles_per_s", "smoke server_cpu_us_per_cycle", "raft cycles_per_s"}, names)

	rate, cpu, raft := all[0], all[1], all[2]
	assert.Equal(t, []int{1, 2, 1}, []int{rate.Moves, cpu.Moves, raft.Moves})
	assert.InDelta(t, 1.1, rate.Value, 1e-9)
	assert.Equal(t, three, rate.BestCommit)
	assert.InDelta(t, 1, cpu.Value, 1e-9, "four fifths of the CPU time, and five fourths of that")
	assert.InDelta(t, 1.25, cpu.Best, 1e-9)
	assert.Equal(t, two, cpu.BestCommit)
	assert.InDelta(t, 0.8, cpu.Share, 1e-9)
	assert.True(t, cpu.Fell)
	assert.InDelta(t, 0.9, raft.Share, 1e-9)
	assert.Equal(t, one, raft.BestCommit)
	assert.False(t, raft.Fell, "the last build has no ratio of it")
	assert.Equal(t, []Product{cpu}, f.Fallen())
}

// A gate with a margin of 5 % passes each loss of 2 %. The third loss reduces the product below the
// bound.
func TestSmallLossesAddUp(t *testing.T) {
	f := moves("cycles_per_s")
	var fell []bool
	for range 3 {
		f = f.With(Build{Commit: "x", Ratios: []Ratio{{"smoke", "cycles_per_s", 0.98}}})
		fell = append(fell, only(t, f).Fell)
	}
	assert.Equal(t, []bool{false, false, true}, fell)
}

// An accepted fall is not reported again, and the next fall is measured from there.
func TestAcceptedFall(t *testing.T) {
	f := moves("cycles_per_s", 0.9)
	require.True(t, only(t, f).Fell)
	f.Builds[1].AcceptCreep = "safety"
	same := f.With(Build{Commit: "2", Ratios: []Ratio{{"smoke", "cycles_per_s", 0.99}}})
	assert.False(t, only(t, same).Fell)
	assert.InDelta(t, 0.9*0.99, only(t, same).Share, 1e-9, "the share is still relative to the overall best")
	again := same.With(Build{Commit: "3", Ratios: []Ratio{{"smoke", "cycles_per_s", 0.95}}})
	assert.True(t, only(t, again).Fell)
}

// The order of the moves does not affect the final product, and the share of the best value is at
// most 1.
func TestOrderOfMovesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratios := rapid.SliceOfN(rapid.Float64Range(0.5, 2), 1, 20).Draw(t, "ratios")
		shuffled := rapid.Permutation(ratios).Draw(t, "shuffled")
		a, b := only(t, moves("cycles_per_s", ratios...)), only(t, moves("cycles_per_s", shuffled...))
		assert.InEpsilon(t, a.Value, b.Value, 1e-9)
		assert.LessOrEqual(t, a.Share, 1.0)
		assert.GreaterOrEqual(t, a.Best, 1.0)
		assert.GreaterOrEqual(t, a.Best, a.Value)
		assert.Equal(t, len(ratios), a.Moves)
	})
}

// A move and its reverse cancel out, and a cost is an inverted rate.
func TestInversion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ratios := rapid.SliceOfN(rapid.Float64Range(0.5, 2), 1, 20).Draw(t, "ratios")
		var back, inverse []float64
		for _, v := range ratios {
			back, inverse = append(back, 1/v), append(inverse, 1/v)
		}
		assert.InEpsilon(t, 1, only(t, moves("cycles_per_s", append(ratios, back...)...)).Value, 1e-9)
		rate, cost := only(t, moves("cycles_per_s", ratios...)), only(t, moves("stream_frames_per_cycle", inverse...))
		assert.InEpsilon(t, rate.Value, cost.Value, 1e-9)
		assert.InEpsilon(t, rate.Best, cost.Best, 1e-9)
		assert.InEpsilon(t, math.Exp(sumOfLogs(ratios)), rate.Value, 1e-9)
	})
}

func sumOfLogs(values []float64) (sum float64) {
	for _, v := range values {
		sum += math.Log(v)
	}
	return sum
}

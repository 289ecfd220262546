package gate_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

func plan() gate.SelfTestPlan {
	return gate.SelfTestPlan{
		Same: []string{"a", "b", "c"}, Within: 90, Drawn: 12, Policy: fast(),
		Slow: []gate.Slow{{Arm: "slow-5", Planted: "PRONY_PLANTED=cpu:400ns", Loss: 0.05}, {Arm: "slow-10", Planted: "PRONY_PLANTED=cpu:900ns", Loss: 0.1}},
	}
}

// bankOf is a bank in segments of ten blocks, each numbered from 1, as they are stored.
func bankOf(t *testing.T, segments int) []result.Arm {
	random := rand.New(rand.NewPCG(51, 52))
	var all [][]result.Arm
	for range segments {
		all = append(all, arms(t, random, 10, noise{round: 0.02, wild: 30, swing: 0.1},
			map[string]float64{"slow-5": 0.05, "slow-10": 0.1}, "a", "b", "c", "slow-5", "slow-10"))
	}
	return gate.JoinSegments(all)
}

func trialOf(t *testing.T, test *gate.SelfTest, arm string, disjoint bool) gate.Trial {
	for _, trial := range test.Trials {
		if trial.Arm == arm && trial.Disjoint == disjoint {
			return trial
		}
	}
	require.Fail(t, "no such trial", "%s of %v", arm, test.Trials)
	return gate.Trial{}
}

func TestSelfTestCountsFalseAlarmsAndPower(t *testing.T) {
	bank := bankOf(t, 8)
	test, err := gate.RunSelfTest(bank, plan())
	require.NoError(t, err)
	assert.Equal(t, 80, test.Blocks)
	assert.InDelta(t, 4.8, test.BlockSeconds, 0.01, "three arms of 1.6 s each")
	assert.Equal(t, 18, test.PerTest)

	same := trialOf(t, test, "identical", true)
	assert.Equal(t, 4, same.Comparisons, "80 blocks have four disjoint sets of 18")
	assert.Zero(t, same.Regressed)
	assert.Greater(t, same.High, 0.4, "four trials prove little, and the interval says so")
	slow := trialOf(t, test, "slow-10", false)
	assert.Equal(t, 12, slow.Comparisons)
	assert.Equal(t, 12, slow.Regressed)
	assert.Equal(t, 12, slow.Verdicts[result.Regressed])
	assert.Equal(t, 12, slow.ByMetric[result.CyclesPerS])
	assert.Positive(t, trialOf(t, test, "slow-5", false).Regressed)

	require.Len(t, test.Truths, 2)
	assert.InDelta(t, 0.95, test.Truths[0].Rate.Ratio, 0.01, "how slow it is in truth is measured over the whole bank")
	assert.InDelta(t, 0.90, test.Truths[1].Rate.Ratio, 0.01)
	for _, s := range test.Spreads {
		if s.Metric == result.CyclesPerS {
			assert.Less(t, s.Pairs, s.Rounds/2, "the host's swings are in both rounds of a pair")
		}
	}
	for _, c := range test.Counters {
		assert.Equal(t, 26, c.Comparisons, "80 blocks have 26 sets of three")
		switch c.Arm {
		case result.StorageSetsPerCycle, result.StorageSetBytesPerCycle:
			assert.Zero(t, c.Regressed, c.Arm)
		case result.StorageSetsPerCycle + ", +1 %", result.StorageSetBytesPerCycle + ", +1 %":
			assert.Greater(t, c.Share(), 0.8, c.Arm)
		}
	}
	again, err := gate.RunSelfTest(bank, plan())
	require.NoError(t, err)
	assert.Equal(t, test, again, "the same bank has the same self-test")
	assert.Equal(t, 80, len(bank[0].Result.Rounds), "the bank is left as it was")
}

func TestSelfTestRefuses(t *testing.T) {
	bank := bankOf(t, 1)
	for _, c := range []struct {
		name  string
		plan  func(*gate.SelfTestPlan)
		bank  []result.Arm
		error string
	}{
		{"too few blocks", nil, bank, "18 blocks of 4.8 s, and the bank has 10: measure on"},
		{"two identical arms", func(p *gate.SelfTestPlan) { p.Same = p.Same[:2] }, bank, "three arms that are the same"},
		{"an arm that is not there", func(p *gate.SelfTestPlan) { p.Slow[0].Arm = "slower" }, bank, `no arm "slower"`},
		{"no time", func(p *gate.SelfTestPlan) { p.Within = 1 }, bank, "0 blocks"},
	} {
		p := plan()
		if c.plan != nil {
			c.plan(&p)
		}
		_, err := gate.RunSelfTest(c.bank, p)
		require.ErrorContains(t, err, c.error, c.name)
	}
}

// A block that one arm lacks, or in which it was not sound, is no block.
func TestJoinSegmentsKeepsWholeBlocks(t *testing.T) {
	random := rand.New(rand.NewPCG(53, 54))
	first := arms(t, random, 4, quiet, nil, "a", "b")
	second := arms(t, random, 3, quiet, nil, "a", "b")
	first[1].Result.Rounds = first[1].Result.Rounds[1:]
	first[0].Result.Rounds[2].Verdict = result.Invalid
	second[1].Result.Rounds[0].Profiled = true
	joined := gate.JoinSegments([][]result.Arm{first, second})
	require.Len(t, joined, 2)
	for _, a := range joined {
		var numbers []int
		for i, r := range a.Result.Rounds {
			numbers = append(numbers, r.Number)
			assert.Equal(t, r.Number, a.Histograms[i].Round)
		}
		assert.Equal(t, []int{1, 2, 3, 4}, numbers, a.Name)
	}
	assert.Equal(t, first[0].Result.Rounds[1].Metrics, joined[0].Result.Rounds[0].Metrics)
	assert.Equal(t, second[1].Result.Rounds[2].Metrics, joined[1].Result.Rounds[3].Metrics)
}

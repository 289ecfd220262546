package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/result"
)

// byBadness is the documented order, worst first.
var byBadness = []result.Verdict{
	result.Incorrect, result.Misconfigured, result.Invalid, result.Regressed, result.Inconclusive, result.Pass,
}

func TestExitCodes(t *testing.T) {
	for verdict, code := range map[result.Verdict]int{
		result.Pass: 0, result.Regressed: 1, result.Misconfigured: 2, result.Invalid: 3, result.Inconclusive: 4,
		result.Incorrect: 5,
		"":               3, "unheard of": 3,
	} {
		assert.Equal(t, code, verdict.ExitCode(), "%q", verdict)
	}
}

func TestKnown(t *testing.T) {
	for _, v := range byBadness {
		assert.True(t, v.Known(), "%q", v)
	}
	assert.False(t, result.Verdict("").Known())
}

func TestWorst(t *testing.T) {
	assert.Equal(t, result.Pass, result.Worst())
	assert.Equal(t, result.Invalid, result.Worst(result.Pass, "unheard of", result.Regressed))
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.SliceOfN(rapid.IntRange(0, len(byBadness)-1), 1, 8).Draw(t, "ranks")
		verdicts := make([]result.Verdict, len(ranks))
		lowest := len(byBadness)
		for i, rank := range ranks {
			verdicts[i] = byBadness[rank]
			lowest = min(lowest, rank)
		}
		assert.Equal(t, byBadness[lowest], result.Worst(verdicts...))
	})
}

package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

// A percentile needs samples beyond it. With too few samples it is the largest one and breaks its
// limit.
func TestALimitSaysHowFewSamplesItJudges(t *testing.T) {
	const name = result.CycleLatencyMs + "_p99"
	l := Limit{Metric: name, Kind: Ceiling, Value: 100, Because: "it must be quick"}
	judged := func(n float64) Finding {
		return judge(l, "", map[string]result.Metric{name: {Median: 4, N: 1}, result.CycleLatencyMs + "_n": {Median: n, N: 1}}, &result.Result{})
	}
	for n, want := range map[float64]string{
		1:    name + " rests on 1 sample, but the percentile needs at least 100 (the limit is a ceiling of 100): it must be quick",
		99:   name + " rests on 99 samples, but the percentile needs at least 100 (the limit is a ceiling of 100): it must be quick",
		100:  name + " 4 is not above the ceiling 100, from 100 samples",
		1000: name + " 4 is not above the ceiling 100",
	} {
		f := judged(n)
		assert.Equal(t, want, f.Sentence)
		assert.Equal(t, n >= 100, f.OK)
	}
	unknown := judge(l, "", map[string]result.Metric{name: {Median: 4, N: 1}}, &result.Result{})
	assert.Equal(t, name+" 4 is not above the ceiling 100", unknown.Sentence, "results of earlier versions may lack the number")
}

// A ratio that breaks its limit is displayed with enough digits to differ from it.
func TestARatioIsToldFromItsLimit(t *testing.T) {
	var pairs []Pair
	for range 8 {
		pairs = append(pairs, Pair{Base: map[string]float64{result.CyclesPerS: 10_000}, Change: map[string]float64{result.CyclesPerS: 8_998}})
	}
	f := judgeRatio(Limit{Metric: result.CyclesPerS, Kind: Floor, Value: 0.9, OfBaseline: true}, &Beside{Commit: "abcdefg", Pairs: pairs, Last: true})
	assert.False(t, f.OK)
	golden.Text(t, "testdata/digits.golden", f.Sentence+"\n")
}

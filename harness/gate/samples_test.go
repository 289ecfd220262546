package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

// A percentile needs samples beyond it. One of fewer samples is the largest of them, and keeps no limit.
func TestALimitSaysHowFewSamplesItJudges(t *testing.T) {
	const name = result.CycleLatencyMs + "_p99"
	l := Limit{Metric: name, Kind: Ceiling, Value: 100, Because: "it must be quick"}
	judged := func(n float64) Finding {
		return judge(l, "", map[string]result.Metric{name: {Median: 4, N: 1}, result.CycleLatencyMs + "_n": {Median: n, N: 1}}, &result.Result{})
	}
	for n, want := range map[float64]string{
		1:    name + " rests on 1 sample, and that percentile takes 100 at least, where a ceiling of 100 is set: it must be quick",
		99:   name + " rests on 99 samples, and that percentile takes 100 at least, where a ceiling of 100 is set: it must be quick",
		100:  name + " 4 is not above the ceiling 100, of 100 samples",
		1000: name + " 4 is not above the ceiling 100",
	} {
		f := judged(n)
		assert.Equal(t, want, f.Sentence)
		assert.Equal(t, n >= 100, f.OK)
	}
	unknown := judge(l, "", map[string]result.Metric{name: {Median: 4, N: 1}}, &result.Result{})
	assert.Equal(t, name+" 4 is not above the ceiling 100", unknown.Sentence, "results of earlier versions may lack the number")
}

// What is written beside a limit that it breaks is not what the limit is written as.
func TestARatioIsToldFromItsLimit(t *testing.T) {
	var pairs []Pair
	for range 8 {
		pairs = append(pairs, Pair{Base: map[string]float64{result.CyclesPerS: 10_000}, Change: map[string]float64{result.CyclesPerS: 8_998}})
	}
	f := judgeRatio(Limit{Metric: result.CyclesPerS, Kind: Floor, Value: 0.9, OfBaseline: true}, &Beside{Commit: "abcdefg", Pairs: pairs, Last: true})
	assert.False(t, f.OK)
	assert.Contains(t, f.Sentence, "cycles_per_s is 0.8998 (")
	assert.Contains(t, f.Sentence, "where the floor is 0.9")
}

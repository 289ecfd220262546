package gate

import (
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// CounterShift is what is added to a counter of identical builds, to see whether the gate calls it.
const CounterShift = 0.01

// SelfTestCounter is what the gate said of one counter from fixed work, of pairs of builds of the same source: as the pairs are, and with
// the change's figure larger by CounterShift.
type SelfTestCounter struct {
	Metric string `json:"metric"` // of a WorkCounter
	Pairs  int    `json:"pairs"`
	False  int    `json:"false"`   // of the pairs, called as they are
	Called int    `json:"shifted"` // of the pairs, called with the figure shifted
	// FalseMost is the upper bound of the false-alarm rate, and CalledLeast the lower bound of the share that is called, each of 95 %
	// confidence.
	FalseMost   float64 `json:"false_most"`
	CalledLeast float64 `json:"called_least"`
}

// boundAlpha is the probability with which a one-sided bound of a share is wrong.
const boundAlpha = 0.05

// judgeCounters judges the counters of the fixed work of pairs of builds of the same source.
func judgeCounters(bank SelfTestBank) (all []SelfTestCounter) {
	pairs := slices.Clone(bank.Works)
	for _, k := range SelfTestKinds() {
		if k.Same() {
			for _, p := range ofKind(bank.Pieces, k.Name) {
				pairs = append(pairs, p.Duet.Work)
			}
		}
	}
	for _, counter := range result.WorkCounters() {
		c := SelfTestCounter{Metric: counter.Metric()}
		for _, work := range pairs {
			if work == nil || work.Cycles == 0 || work.Counters[counter.Name] == [2]float64{} { // 1 % of nothing is nothing
				continue
			}
			c.Pairs++
			if worsened(work, counter.Metric()) {
				c.False++
			}
			if worsened(shifted(work, counter.Name), counter.Metric()) {
				c.Called++
			}
		}
		if c.Pairs > 0 {
			c.FalseMost, c.CalledLeast = stat.ShareAtMost(c.False, c.Pairs, boundAlpha), stat.ShareAtLeast(c.Called, c.Pairs, boundAlpha)
			all = append(all, c)
		}
	}
	return all
}

// worsened reports whether the gate calls a counter of fixed work, by the rule for counters alone.
func worsened(work *result.FixedWork, metric string) bool {
	j := &duetJudgement{c: &result.Comparison{Verdict: result.Pass, Duet: &result.DuetJudgement{}}}
	j.work(work)
	return slices.ContainsFunc(j.c.Metrics, func(d result.MetricDelta) bool { return d.Metric == metric && d.Outcome == result.Worsened })
}

// shifted is fixed work whose change counted more of one counter.
func shifted(work *result.FixedWork, counter string) *result.FixedWork {
	other := *work
	other.Counters = maps.Clone(work.Counters)
	values := other.Counters[counter]
	values[1] *= 1 + CounterShift
	other.Counters[counter] = values
	return &other
}

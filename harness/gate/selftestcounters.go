package gate

import (
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// CounterShift is a fraction. The self-test raises a counter of identical builds by this fraction
// to test whether the gate detects the increase.
const CounterShift = 0.01

// SelfTestCounter contains the gate's verdicts on one counter of fixed work. It includes all pairs
// without a planted fault that changes the counter. Each pair is judged twice: once with the
// measured figures, and once with the change's figure raised by CounterShift.
type SelfTestCounter struct {
	Metric string `json:"metric"` // of a WorkCounter
	Pairs  int    `json:"pairs"`
	False  int    `json:"false"` // false alarms: pairs with an alarm on the measured figures
	// Since is the number of pairs measured since the last false alarm; all pairs if there was
	// none.
	Since  int `json:"since"`
	Called int `json:"shifted"` // pairs with an alarm on the shifted figure
	// FalseMost is the upper 95 % bound of the false-alarm rate. CalledLeast is the lower 95 %
	// bound of the share of pairs with an alarm on the shifted figure.
	FalseMost   float64 `json:"false_most"`
	CalledLeast float64 `json:"called_least"`
}

// boundAlpha is the probability that a one-sided bound of a share is wrong.
const boundAlpha = 0.05

// judgeCounters judges the counters from the fixed work of pieces, which must be in the order of
// measurement. For each counter it skips the pieces whose planted fault changes that counter.
func judgeCounters(pieces []SelfTestPiece) (all []SelfTestCounter) {
	changes := map[string][]string{}
	for _, k := range SelfTestKinds() {
		changes[k.Name] = k.Changes
	}
	for _, counter := range result.WorkCounters() {
		c := SelfTestCounter{Metric: counter.Metric()}
		for _, p := range pieces {
			if slices.Contains(changes[p.Kind], counter.Name) {
				continue
			}
			for _, work := range p.fixedWorks() {
				c.add(work, counter.Name)
			}
		}
		if c.Pairs > 0 {
			c.FalseMost, c.CalledLeast = stat.ShareAtMost(c.False, c.Pairs, boundAlpha), stat.ShareAtLeast(c.Called, c.Pairs, boundAlpha)
			all = append(all, c)
		}
	}
	return all
}

// fixedWorks returns the fixed work of all pairs of a piece, including failed ones.
func (p SelfTestPiece) fixedWorks() []*result.FixedWork {
	if p.Duet == nil {
		return p.Works
	}
	return []*result.FixedWork{p.Duet.Work}
}

// add judges the counter in one more pair. It skips a pair in which the counter was not measured or
// is 0 on both sides, because CounterShift cannot raise a zero.
func (c *SelfTestCounter) add(work *result.FixedWork, counter string) {
	if work == nil || work.Cycles == 0 || work.Counters[counter] == [2]float64{} {
		return
	}
	c.Pairs++
	c.Since++
	if worsened(work, c.Metric) {
		c.False++
		c.Since = 0
	}
	if worsened(shifted(work, counter), c.Metric) {
		c.Called++
	}
}

// worsened reports whether the gate raises an alarm on a counter of fixed work, by the rule for
// counters alone.
func worsened(work *result.FixedWork, metric string) bool {
	j := &duetJudgement{c: &result.Comparison{Verdict: result.Pass, Duet: &result.DuetJudgement{}}}
	j.work(work)
	return slices.ContainsFunc(j.c.Metrics, func(d result.MetricDelta) bool { return d.Metric == metric && d.Outcome == result.Worsened })
}

func shifted(work *result.FixedWork, counter string) *result.FixedWork {
	other := *work
	other.Counters = maps.Clone(work.Counters)
	values := other.Counters[counter]
	values[1] *= 1 + CounterShift
	other.Counters[counter] = values
	return &other
}

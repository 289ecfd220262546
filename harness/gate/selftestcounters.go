package gate

import (
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// CounterShift is what is added to a counter of identical builds, to see whether the gate calls it.
const CounterShift = 0.01

// SelfTestCounter is what the gate said of one counter from fixed work, in all pairs whose change has no planted fault that changes the
// counter: as the pairs are, and with the change's figure larger by CounterShift.
type SelfTestCounter struct {
	Metric string `json:"metric"` // of a WorkCounter
	Pairs  int    `json:"pairs"`
	False  int    `json:"false"`   // of the pairs, called as they are
	Since  int    `json:"since"`   // pairs measured after the last one that was called as it is; all of them if none was
	Called int    `json:"shifted"` // of the pairs, called with the figure shifted
	// FalseMost is the upper bound of the false-alarm rate, and CalledLeast the lower bound of the share that is called, each of 95 %
	// confidence.
	FalseMost   float64 `json:"false_most"`
	CalledLeast float64 `json:"called_least"`
}

// boundAlpha is the probability with which a one-sided bound of a share is wrong.
const boundAlpha = 0.05

// judgeCounters judges the counters from the fixed work of pieces, which are in the order in which they were measured. For each counter it
// leaves out the pieces whose planted fault changes that counter.
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

// fixedWorks returns the fixed work of all pairs of a piece. Some may have failed.
func (p SelfTestPiece) fixedWorks() []*result.FixedWork {
	if p.Duet == nil {
		return p.Works
	}
	return []*result.FixedWork{p.Duet.Work}
}

// add judges the counter in one more pair. It leaves out a pair in which the counter was not measured or is 0 on both sides, because a zero
// cannot be raised by CounterShift.
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

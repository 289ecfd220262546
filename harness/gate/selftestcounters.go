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
	Metric string `json:"metric"`
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

// judgeCounters judges the counters of all pieces whose sides are the same source.
func judgeCounters(pieces []SelfTestPiece, policy DuetPolicy) []SelfTestCounter {
	same := map[string]bool{}
	for _, k := range SelfTestKinds() {
		same[k.Name] = k.Same()
	}
	counters := map[string]*SelfTestCounter{}
	for _, p := range pieces {
		if !same[p.Kind] || p.Duet.Work == nil {
			continue
		}
		asIs := worsened(p.Duet, policy)
		for metric, values := range p.Duet.Work.Counters {
			if values[0] == 0 && values[1] == 0 { // 1 % of nothing is nothing
				continue
			}
			c := counters[metric]
			if c == nil {
				c = &SelfTestCounter{Metric: metric}
				counters[metric] = c
			}
			c.Pairs++
			if asIs[metric] {
				c.False++
			}
			if worsened(shifted(p.Duet, metric), policy)[metric] {
				c.Called++
			}
		}
	}
	var all []SelfTestCounter
	for _, metric := range slices.Sorted(maps.Keys(counters)) {
		c := counters[metric]
		c.FalseMost, c.CalledLeast = stat.ShareAtMost(c.False, c.Pairs, boundAlpha), stat.ShareAtLeast(c.Called, c.Pairs, boundAlpha)
		all = append(all, *c)
	}
	return all
}

// worsened returns the metrics of a duet that the gate calls.
func worsened(d *result.Duet, policy DuetPolicy) map[string]bool {
	called := map[string]bool{}
	for _, m := range JudgeDuet(d, 1, policy).Metrics {
		called[m.Metric] = m.Outcome == result.Worsened
	}
	return called
}

// shifted is a duet whose change counted more of one metric.
func shifted(d *result.Duet, metric string) *result.Duet {
	other, work := *d, *d.Work
	work.Counters = maps.Clone(d.Work.Counters)
	values := work.Counters[metric]
	values[1] *= 1 + CounterShift
	work.Counters[metric] = values
	other.Work = &work
	return &other
}

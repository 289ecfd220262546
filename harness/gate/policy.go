package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// Policy contains the parameters of Compare.
type Policy struct {
	// Alpha is the significance level of all timings together: the maximum probability that the
	// tests find a difference in any timing of identical builds. The other conditions reduce this
	// probability further. Alpha is greater than 0 and less than 1.
	Alpha float64
	// Metrics are the judged metrics, in the order of the displayed table.
	Metrics []Judged
	// Resamples is the number of resamples of each bootstrap; 0 means stat.Resamples.
	Resamples int
}

// Judged is a metric that a comparison judges.
type Judged struct {
	Metric string
	// Effect is the smallest relevant deviation of the ratio from 1, as a fraction; greater than 0.
	Effect float64
	// Least is the smallest relevant difference, in the metric's unit. It is needed for small
	// counts: it does not matter if a thousandth of an fsync per cycle doubles.
	Least float64
	// Counter reports that the metric counts work, independent of the host's speed. Counters are
	// judged by a separate rule.
	Counter bool
	// Required makes a comparison inconclusive if this metric is.
	Required bool
}

// Least effects of DefaultPolicy, as fractions.
const (
	EffectRate = 0.03
	EffectP50  = 0.05
	EffectP99  = 0.10
	// EffectPerCounter is below the 1 % that the gate must detect, because a change of exactly the
	// least effect is detected only half of the time.
	EffectPerCounter = 0.005
	// LeastPerCycle is the least relevant difference of a counter, in its unit.
	LeastPerCycle = 0.005
)

// DefaultPolicy judges the rate and the CPU time of a cycle, the cycle's latency, and the server's
// counters per cycle. Because of the other conditions, an Alpha of 5 % yields a far lower
// false-alarm rate: half of the alarms are in the other direction, and most others are too small to
// matter or no larger than the control's difference. `prony gate selftest` measures that rate.
func DefaultPolicy() Policy {
	p := Policy{Alpha: 0.05, Metrics: []Judged{
		{Metric: result.CyclesPerS, Effect: EffectRate, Required: true},
		{Metric: result.CPUUsPerCycle, Effect: EffectRate, Required: true},
		{Metric: result.CycleLatencyMs + "_p50", Effect: EffectP50},
		{Metric: result.CycleLatencyMs + "_p99", Effect: EffectP99},
	}}
	for _, counter := range []string{
		result.StorageSetsPerCycle, result.StorageGetsPerCycle, result.StorageDeletesPerCycle, result.StorageSetBytesPerCycle,
		result.WrittenBytesPerCycle, result.StorageFsyncsPerCycle, result.ServerAllocsPerCycle, result.ServerAllocBytesPerCycle,
		result.RaftEntriesPerCycle,
	} {
		p.Metrics = append(p.Metrics, Judged{Metric: counter, Effect: EffectPerCounter, Least: LeastPerCycle, Counter: true})
	}
	return p
}

// WithEffect returns the policy with another least effect for the rate and for CPU time.
func (p Policy) WithEffect(effect float64) Policy {
	p.Metrics = slices.Clone(p.Metrics)
	for i := range p.Metrics {
		if m := &p.Metrics[i]; m.Required && !m.Counter {
			m.Effect = effect
		}
	}
	return p
}

// counterAlpha is the significance level of all counters together, as a fraction of Alpha. It is in
// addition to the level of the timings, which is Alpha. Counters are corrected for multiple testing
// separately, so they do not reduce the power of the timings' tests.
const counterAlpha = 0.2

func (p Policy) alpha(counter bool) float64 {
	if counter {
		return counterAlpha * p.Alpha
	}
	return p.Alpha
}

// level returns the level that the most significant counter, or timing, must reach.
func (p Policy) level(counter bool) float64 {
	n := 0
	for _, m := range p.Metrics {
		if m.Counter == counter {
			n++
		}
	}
	return p.alpha(counter) / float64(max(1, n))
}

func (p Policy) least(metric string) float64 {
	for _, m := range p.Metrics {
		if m.Metric == metric {
			return m.Least
		}
	}
	return 0
}

func (p Policy) isCounter(metric string) bool {
	return slices.ContainsFunc(p.Metrics, func(m Judged) bool { return m.Metric == metric && m.Counter })
}

func (p Policy) check() error {
	if math.IsNaN(p.Alpha) || p.Alpha <= 0 || p.Alpha >= 1 {
		return fmt.Errorf("policy: alpha %v is outside 0 to 1", p.Alpha)
	}
	if len(p.Metrics) == 0 {
		return fmt.Errorf("policy: no metric to judge")
	}
	for _, m := range p.Metrics {
		if math.IsNaN(m.Effect) || m.Effect <= 0 || m.Effect >= 1 {
			return fmt.Errorf("policy: the least effect %v of %s is outside 0 to 1", m.Effect, m.Metric)
		}
		if math.IsNaN(m.Least) || m.Least < 0 {
			return fmt.Errorf("policy: the least difference %v of %s is negative", m.Least, m.Metric)
		}
		if _, known := result.Lookup(m.Metric); !known {
			return fmt.Errorf("policy: there is no metric %q", m.Metric)
		}
	}
	return nil
}

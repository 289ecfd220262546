package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// Policy is what Compare judges by.
type Policy struct {
	// Alpha is the probability with which a comparison of identical builds may call any of its timings different, before the
	// other conditions; greater than 0 and less than 1.
	Alpha float64
	// Metrics are those judged, in the order of the table that a person reads.
	Metrics []Judged
	// Resamples of each bootstrap; 0 means stat.Resamples.
	Resamples int
}

// Judged is a metric that a comparison judges.
type Judged struct {
	Metric string
	// Effect is the least change of the ratio from 1 that matters, as a part of 1; greater than 0.
	Effect float64
	// Counter says that it counts what was done, whatever the host's speed: it has a rule of its own.
	Counter bool
	// Required says that a comparison can't pass where it is inconclusive.
	Required bool
}

// The least effects of DefaultPolicy, as parts of 1.
const (
	EffectRate       = 0.03
	EffectP50        = 0.05
	EffectP99        = 0.10
	EffectPerCounter = 0.01
)

// DefaultPolicy judges the rate and the CPU time of a cycle, the cycle's latency, and the counters of what the server did
// for each cycle. With the other conditions, an Alpha of 5 % comes to far less false alarms than that: half of it is in the other direction, and
// most of the rest is too small to matter or no larger than the control's difference. `prony gate selftest` measures how many.
func DefaultPolicy() Policy {
	return Policy{Alpha: 0.05, Metrics: []Judged{
		{Metric: result.CyclesPerS, Effect: EffectRate, Required: true},
		{Metric: result.CPUUsPerCycle, Effect: EffectRate, Required: true},
		{Metric: result.CycleLatencyMs + "_p50", Effect: EffectP50},
		{Metric: result.CycleLatencyMs + "_p99", Effect: EffectP99},
		{Metric: result.StorageSetsPerCycle, Effect: EffectPerCounter, Counter: true},
		{Metric: result.StorageGetsPerCycle, Effect: EffectPerCounter, Counter: true},
		{Metric: result.StorageDeletesPerCycle, Effect: EffectPerCounter, Counter: true},
		{Metric: result.StorageSetBytesPerCycle, Effect: EffectPerCounter, Counter: true},
		{Metric: result.WrittenBytesPerCycle, Effect: EffectPerCounter, Counter: true},
		{Metric: result.RaftEntriesPerCycle, Effect: EffectPerCounter, Counter: true},
	}}
}

// WithEffect is the policy with another least effect of the rate and of CPU time.
func (p Policy) WithEffect(effect float64) Policy {
	p.Metrics = slices.Clone(p.Metrics)
	for i := range p.Metrics {
		if m := &p.Metrics[i]; m.Required && !m.Counter {
			m.Effect = effect
		}
	}
	return p
}

// timings is how many tests a comparison corrects for.
func (p Policy) timings() int {
	n := 0
	for _, m := range p.Metrics {
		if !m.Counter {
			n++
		}
	}
	return max(1, n)
}

func (p Policy) check() error {
	if math.IsNaN(p.Alpha) || p.Alpha <= 0 || p.Alpha >= 1 {
		return fmt.Errorf("policy: alpha %v is outside 0 to 1", p.Alpha)
	}
	if len(p.Metrics) == 0 {
		return fmt.Errorf("policy: it judges no metric")
	}
	for _, m := range p.Metrics {
		if math.IsNaN(m.Effect) || m.Effect <= 0 || m.Effect >= 1 {
			return fmt.Errorf("policy: the least effect %v of %s is outside 0 to 1", m.Effect, m.Metric)
		}
		if _, known := result.Lookup(m.Metric); !known {
			return fmt.Errorf("policy: there is no metric %q", m.Metric)
		}
	}
	return nil
}

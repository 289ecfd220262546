package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// DuetPolicy contains the parameters of JudgeDuet.
type DuetPolicy struct {
	// Alpha is the maximum false-alarm rate over all primaries and all looks together: the
	// probability that a change is called regressed although none of its losses exceeds Least. It
	// is greater than 0 and less than 1.
	Alpha float64
	// Looks is the maximum number of judgements of a duet while it is measured, 1 or more.
	Looks int
	// Least is the largest tolerated loss, as a fraction: even a certain loss up to Least does not
	// make a change regressed.
	Least float64
	// Primaries are judged, in the order of the displayed table.
	Primaries []Primary
	// GenerationsMin is the minimum number of valid generations for a verdict; 2 or more.
	GenerationsMin int
}

// Primary is a figure of a duet that is judged by its loss.
type Primary struct {
	Metric string
	// Margin is the loss, as a fraction, that a pass excludes.
	Margin float64
	// Weight is the primary's share of the false-alarm rate. Only the ratios of the weights matter.
	Weight float64
	// Trim is the share of the generations that is trimmed at each end of the ratios, from 0 to
	// below 0.5. It is needed because a few stalls of the host can multiply the latency of a
	// generation.
	Trim float64
	// AlarmOnly is true for a figure whose noise exceeds its margin. A pass then does not require
	// that a loss of the figure is excluded, but a certain loss still makes the verdict regressed.
	AlarmOnly bool
}

// Parameters of DefaultDuetPolicy and of the verdict.
const (
	duetAlpha  = 0.005
	duetLooks  = 3
	duetLeast  = 0.01
	duetFewest = 6
	// passAlpha is the probability that an upper bound lies below the true loss.
	passAlpha = 0.05
	// suspectAlpha is the level of the test that prevents an early pass.
	suspectAlpha = 0.1
	// trimLatency is the share of the generations that is trimmed at each end of the ratios of
	// latencies. CPU time and the rate are not trimmed: a change that stalls occasionally worsens
	// their mean and must not pass.
	trimLatency = 0.2
	// trimMax leaves at least two of any two or more values.
	trimMax = 0.25
	// firstShare is the share of Alpha that the first look spends.
	firstShare = 0.8
)

// Margins of DefaultDuetPolicy, as fractions.
const (
	MarginCost = 0.05 // of CPU time and of the rate
	MarginP50  = 0.10
	MarginP99  = 0.25
)

// DefaultDuetPolicy returns the policy of `prony compare`. The CPU time of the server and the rate
// have most of the weight, because they are less noisy than the other primaries and can show losses
// of 3 %. The latencies need little weight, because only large losses of latency matter. The p99 of
// builds of the same source differs by 30 to 90 % between generations. When a pass had to exclude a
// loss of p99, only 73 of 112 first looks passed.
func DefaultDuetPolicy() DuetPolicy {
	return DuetPolicy{
		Alpha: duetAlpha, Looks: duetLooks, Least: duetLeast, GenerationsMin: duetFewest,
		Primaries: []Primary{
			{Metric: result.ServerCPUUsPerCycle, Margin: MarginCost, Weight: 0.35},
			{Metric: result.ClientCPUUsPerCycle, Margin: MarginCost, Weight: 0.2},
			{Metric: result.CyclesPerS, Margin: MarginCost, Weight: 0.35},
			{Metric: result.CycleLatencyMs + "_p50", Margin: MarginP50, Weight: 0.05, Trim: trimLatency},
			{Metric: result.CycleLatencyMs + "_p99", Margin: MarginP99, Weight: 0.05, Trim: trimLatency, AlarmOnly: true},
		},
	}
}

// spent returns the false-alarm rate that a look may use, over all primaries. The rates of all
// looks add up to Alpha, so Alpha bounds the false-alarm rate of all looks together. This is
// Bonferroni's correction over looks, a spending function in the sense of Lan and DeMets
// (Biometrika 70, 1983). The first look gets firstShare; later looks use more generations and need
// a smaller rate.
func (p DuetPolicy) spent(look int) float64 {
	switch {
	case p.Looks == 1:
		return p.Alpha
	case look == 1:
		return firstShare * p.Alpha
	default:
		return (1 - firstShare) * p.Alpha / float64(p.Looks-1)
	}
}

func (p DuetPolicy) check() error {
	share := func(v float64) bool { return v > 0 && v < 1 } // false for NaN
	switch {
	case !share(p.Alpha):
		return fmt.Errorf("policy of duets: alpha %v is outside 0 to 1", p.Alpha)
	case p.Looks < 1:
		return fmt.Errorf("policy of duets: %d looks are fewer than 1", p.Looks)
	case math.IsNaN(p.Least) || p.Least < 0 || p.Least >= 1:
		return fmt.Errorf("policy of duets: the least loss %v is outside 0 to 1", p.Least)
	case p.GenerationsMin < 2:
		return fmt.Errorf("policy of duets: %d generations are fewer than 2", p.GenerationsMin)
	case len(p.Primaries) == 0:
		return fmt.Errorf("policy of duets: no primary to judge")
	}
	for i, m := range p.Primaries {
		switch {
		case figureOf[m.Metric] == nil:
			return fmt.Errorf("policy of duets: duets do not measure %q", m.Metric)
		case slices.ContainsFunc(p.Primaries[:i], func(o Primary) bool { return o.Metric == m.Metric }):
			return fmt.Errorf("policy of duets: primary %s is listed twice", m.Metric)
		case !share(m.Margin) || m.Margin <= p.Least:
			return fmt.Errorf("policy of duets: the margin %v of %s is not between the least loss %v and 1", m.Margin, m.Metric, p.Least)
		case !(m.Weight > 0) || math.IsInf(m.Weight, 0):
			return fmt.Errorf("policy of duets: the weight %v of %s is not above 0", m.Weight, m.Metric)
		case math.IsNaN(m.Trim) || m.Trim < 0 || m.Trim > trimMax:
			return fmt.Errorf("policy of duets: trim %v of %s is outside 0 to %v", m.Trim, m.Metric, trimMax)
		}
	}
	return nil
}

package gate

import (
	"math"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// sliceFigureOf computes the primaries that can also be computed from a slice.
var sliceFigureOf = map[string]func(result.Slice) float64{
	result.ServerCPUUsPerCycle: func(s result.Slice) float64 { return usPerCycle(s.ServerCPUNs, s.Cycles) },
	result.ClientCPUUsPerCycle: func(s result.Slice) float64 { return usPerCycle(s.ClientCPUNs, s.Cycles) },
	result.CyclesPerS:          func(s result.Slice) float64 { return float64(s.Cycles) / s.Seconds },
}

// control sets a metric's control: the ratio of the base's odd slices to the base's even slices,
// over generations, with its 95 % interval. Both come from the same process, so any difference is
// noise. A metric that cannot be computed from slices has no control.
func control(d *result.MetricDelta, generations []result.Generation) {
	of := sliceFigureOf[d.Metric]
	if of == nil {
		return
	}
	var logs []float64
	for _, g := range generations {
		var halves [2]result.Slice
		n := 0
		for _, s := range g.Slices {
			if s.Side != 0 {
				continue
			}
			h := &halves[n%2]
			h.Cycles += s.Cycles
			h.Seconds += s.Seconds
			h.ServerCPUNs += s.ServerCPUNs
			h.ClientCPUNs += s.ClientCPUNs
			n++
		}
		if ratio := of(halves[0]) / of(halves[1]); ratio > 0 && !math.IsInf(ratio, 0) {
			logs = append(logs, math.Log(ratio))
		}
	}
	m, err := stat.TrimmedMean(logs, 0)
	if err != nil {
		return // fewer than two generations have slices
	}
	d.ControlRatio = math.Exp(m.Center)
	d.ControlRatioLow, d.ControlRatioHigh = math.Exp(m.Lower((1-stat.Level)/2)), math.Exp(m.Upper((1-stat.Level)/2))
}

// show adds figures that no verdict depends on: the medians of slices, and the servers' CPU use
// while the other side had the load.
func show(c *result.Comparison, generations []result.Generation) {
	add := func(name, unit string, values [2][]float64) {
		if len(values[0]) > 0 && len(values[1]) > 0 {
			c.Duet.Shown = append(c.Duet.Shown, result.DuetFigure{Name: name, Unit: unit, Base: middle(values[0]), Change: middle(values[1])})
		}
	}
	for _, metric := range []string{result.ServerCPUUsPerCycle, result.ClientCPUUsPerCycle, result.CyclesPerS} {
		var values [2][]float64
		for _, g := range generations {
			for _, s := range g.Slices {
				if v := sliceFigureOf[metric](s); s.Cycles > 0 && finite(v) {
					values[s.Side&1] = append(values[s.Side&1], v)
				}
			}
		}
		spec, _ := result.Lookup(metric)
		add("median slice, "+metric, spec.Unit, values)
	}
	var idle, slip [2][]float64
	for _, g := range generations {
		for i, s := range g.Sides {
			if v := 100 * float64(s.IdleCPUNs) / float64(s.ServerCPUNs); finite(v) {
				idle[i] = append(idle[i], v)
			}
			if s.Open != nil {
				slip[i] = append(slip[i], s.Open.SlipMsP99)
			}
		}
	}
	add("server CPU used in slices of the other side", "%", idle)
	add("open load sent late by, p99", "ms", slip)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

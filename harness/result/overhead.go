package result

import "math"

// ProfilingOverheads returns what profiling cost the rounds of one point: ProfilingOverheadRatio, where the load was closed,
// and ProfilingCPURatio. Each profiled round is compared with the timed ones beside it, the last before and the first
// after it (the geometric mean of both, so that what drifts cancels out), and of the ratios it gives the median and its
// interval or range. Rounds of which the verdict is not pass don't count, and what has no pair is left out.
func ProfilingOverheads(rounds []Round, closed bool) (map[string]Metric, error) {
	found := map[string]Metric{}
	for _, of := range []struct {
		name, metric string
		inverse      bool // more of the metric is cheaper
		wanted       bool
	}{
		{ProfilingOverheadRatio, CyclesPerS, true, closed},
		{ProfilingCPURatio, CPUUsPerCycle, false, true},
	} {
		var ratios []float64
		for i := range rounds {
			profiled := value(&rounds[i], of.metric)
			beside := besides(rounds, i, of.metric)
			if !rounds[i].Profiled || profiled == 0 || beside == 0 {
				continue
			}
			if of.inverse {
				profiled, beside = beside, profiled
			}
			ratios = append(ratios, profiled/beside)
		}
		if !of.wanted || len(ratios) == 0 {
			continue
		}
		spec, _ := Lookup(of.name)
		m, err := MedianOf(ratios, spec)
		if err != nil {
			return nil, err
		}
		found[of.name] = m
	}
	return found, nil
}

// besides is a metric of the timed rounds beside one; 0 where there is none.
func besides(rounds []Round, at int, metric string) float64 {
	product, n := 1.0, 0
	for _, step := range []int{-1, 1} {
		for i := at + step; i >= 0 && i < len(rounds); i += step {
			if v := value(&rounds[i], metric); rounds[i].Timed() && v > 0 {
				product *= v
				n++
				break
			}
		}
	}
	if n == 0 {
		return 0
	}
	return math.Pow(product, 1/float64(n))
}

// value is a metric of a sound round; 0 where there is none.
func value(r *Round, metric string) float64 {
	v := r.Metrics[metric]
	if r.Verdict != Pass || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0
	}
	return v
}

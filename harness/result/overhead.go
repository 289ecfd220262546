package result

import "math"

// ProfilingOverheads returns the cost of profiling for the rounds of one point:
// ProfilingOverheadRatio, if the load was closed, and ProfilingCPURatio. It compares each profiled
// round with the geometric mean of the last timed round before it and the first one after it, so
// that drift cancels out. It returns the median of the ratios with its interval or range. Rounds
// whose verdict is not pass are ignored, and a metric without any comparison is omitted.
func ProfilingOverheads(rounds []Round, closed bool) (map[string]Metric, error) {
	found := map[string]Metric{}
	for _, of := range []struct {
		name, metric string
		inverse      bool // a higher value of the metric is better
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

// besides returns the geometric mean of a metric in the nearest timed rounds before and after a
// round, or 0 if there are none.
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

// value returns a metric of a round, or 0 if the round did not pass or lacks the metric.
func value(r *Round, metric string) float64 {
	v := r.Metrics[metric]
	if r.Verdict != Pass || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0
	}
	return v
}

package result

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/stat"
)

// Resample adds the 95 % intervals of latency percentiles to a run that an earlier build stored
// without them. Metrics with too few rounds or missing histograms keep the range of their rounds.
func Resample(r *Result, hists []RoundHistograms) {
	of := func(point int, metrics map[string]Metric, workloads []Workload) {
		timed := slices.DeleteFunc(timedOf(r.Rounds), func(round Round) bool { return round.Point != point })
		resample(metrics, timed, hists)
		for _, w := range workloads {
			own, ownHists := roundsOfWorkload(timed, hists, w.Name)
			resample(w.Metrics, own, ownHists)
		}
	}
	of(0, r.Metrics, r.Workloads)
	for _, p := range r.Points {
		of(p.Number, p.Metrics, p.Workloads)
	}
}

// resample sets the 95 % intervals of latency percentiles of timed rounds, by a bootstrap over
// rounds.
func resample(metrics map[string]Metric, timed []Round, hists []RoundHistograms) {
	for _, family := range slices.Compact(familiesOf(metrics, len(timed))) {
		histograms := histogramsOf(family, timed, hists)
		if len(histograms) != len(timed) || len(timed) < stat.MinIntervalN {
			continue
		}
		percents := make([]float64, len(percentiles))
		for i, p := range percentiles {
			percents[i] = p.percent
		}
		found, err := stat.MergedPercentiles(histograms, percents, 0)
		if err != nil { // a round without samples
			continue
		}
		for i, p := range percentiles {
			if m, has := metrics[family+p.suffix]; has {
				m.Low, m.High, m.Resampled = found[i].Low/1e6, found[i].High/1e6, true
				metrics[family+p.suffix] = m
			}
		}
	}
}

// familiesOf returns the latency families whose percentiles are from the given number of rounds and
// lack an interval.
func familiesOf(metrics map[string]Metric, rounds int) (families []string) {
	for _, spec := range specs {
		if m, has := metrics[spec.Name]; has && spec.Percentile() && m.N == rounds && !m.Resampled {
			families = append(families, spec.Family)
		}
	}
	return families
}

func histogramsOf(family string, timed []Round, hists []RoundHistograms) (all []*hdrhistogram.Histogram) {
	for _, r := range timed {
		for _, h := range hists {
			if h.Round != r.Number {
				continue
			}
			for _, kind := range h.Kinds() {
				if kind.Family == family && kind.Histogram != nil {
					all = append(all, kind.Histogram)
				}
			}
		}
	}
	return all
}

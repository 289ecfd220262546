package result

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/pronybench/prony/harness/stat"
)

// Derive computes the metrics of r that follow from its other fields and from its histograms:
// throughput, the latencies, the ledger's counts, and the CPU of both sides together if both are
// known. A metric without a source is omitted. Derive removes metrics that are NaN or infinite,
// such as a fraction of 0.
func (r *Round) Derive(h Histograms) {
	if r.Metrics == nil {
		r.Metrics = make(map[string]float64)
	}
	if r.WindowSeconds > 0 && r.Cycles > 0 {
		r.Metrics[CyclesPerS] = float64(r.Cycles) / r.WindowSeconds
	}
	if r.WindowSeconds > 0 && r.Enqueues > 0 {
		r.Metrics[EnqueuesPerS] = float64(r.Enqueues) / r.WindowSeconds
	}
	server, haveServer := r.Metrics[ServerCPUUsPerCycle]
	client, haveClient := r.Metrics[ClientCPUUsPerCycle]
	if haveServer && haveClient {
		r.Metrics[CPUUsPerCycle] = server + client
	}
	r.deriveParts()
	r.deriveCycleTime(h)
	maps.Copy(r.Metrics, ledgerMetrics(r.Ledger))
	maps.Copy(r.Metrics, LatencyMetrics(h))
	maps.DeleteFunc(r.Metrics, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

func ledgerMetrics(l Ledger) map[string]float64 {
	metrics := map[string]float64{
		Lost:       float64(l.Lost),
		Duplicated: float64(l.Duplicated),
		Corrupted:  float64(l.Corrupted),
	}
	if l.Reads > 0 { // without a read, no read was checked
		metrics[ReadMismatches] = float64(l.Misread)
	}
	return metrics
}

// MedianOf returns the median of a metric's values, one per round, with its interval or range. If
// it returns an error, only N and Unit of the Metric are set.
func MedianOf(values []float64, spec Spec) (Metric, error) {
	s, err := stat.Summarise(values)
	return Metric{Median: s.Center, Low: s.Low, High: s.High, N: len(values), Unit: spec.Unit}, err
}

// Summarise returns the metrics of a run or of a point as documented at Metric: the metrics of the
// ledger over all rounds, and all other metrics over the timed rounds. Derive must have been called
// for the timed rounds, and hists must contain their histograms. The wanted metrics are those that
// every round must have, those of the given parts, and any other that a timed round has. Summarise
// leaves out a wanted metric that is missing or not finite in a timed round. In that case it
// returns the other metrics, and an error that names each missing metric.
func Summarise(rounds []Round, hists []RoundHistograms, parts ...Part) (map[string]Metric, error) {
	if len(rounds) == 0 {
		return nil, errors.New("no rounds to summarise")
	}
	metrics := SummariseLedger(rounds)
	timed := timedOf(rounds)
	if len(timed) == 0 {
		return metrics, errors.New("no timed rounds to summarise: profiled rounds yield no figures")
	}
	found, err := summariseTimed(timed, hists, func(spec Spec) bool { return !spec.OfLedger() && wanted(spec, parts, timed) })
	maps.Copy(metrics, found)
	return metrics, err
}

func timedOf(rounds []Round) []Round {
	return slices.DeleteFunc(slices.Clone(rounds), func(r Round) bool { return !r.Timed() })
}

func summariseTimed(timed []Round, hists []RoundHistograms, wanted func(Spec) bool) (map[string]Metric, error) {
	metrics := make(map[string]Metric)
	problems := unknownMetrics(timed)
	merged, err := mergeTimed(timed, hists)
	if err != nil {
		problems = append(problems, err)
	}
	ofMerged := LatencyMetrics(merged)
	maps.Copy(ofMerged, mergeTurns(timed).metrics())
	maps.Copy(ofMerged, mergeLossWindows(timed).metrics())
	maps.Copy(ofMerged, mergeFaults(timed).metrics())
	for _, spec := range specs {
		if !wanted(spec) {
			continue
		}
		if spec.Name == DecayPercent {
			if decay, err := Decay(timed); err == nil {
				metrics[spec.Name] = decay
			}
			continue
		}
		of := timed
		if spec.Partial {
			if of = having(spec.Name, timed); len(of) == 0 {
				continue
			}
		}
		values, err := valuesOf(spec.Name, of)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		metric, err := MedianOf(values, spec)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", spec.Name, err))
			continue
		}
		if spec.Merged() {
			median, found := ofMerged[spec.Name]
			if !found {
				problems = append(problems, fmt.Errorf("%s: the timed rounds have no samples", spec.Name))
				continue
			}
			metric.Median, metric.Low, metric.High = median, slices.Min(values), slices.Max(values)
		}
		metrics[spec.Name] = metric
	}
	resample(metrics, timed, hists)
	return metrics, errors.Join(problems...)
}

// wanted reports whether every round must have the metric, one of the parts has it, or any of the
// rounds has it.
func wanted(spec Spec, parts []Part, rounds []Round) bool {
	taken := takenAway(spec, parts)
	return !taken && (spec.Part == "" || slices.Contains(parts, spec.Part)) ||
		len(having(spec.Name, rounds)) > 0
}

func takenAway(spec Spec, parts []Part) bool {
	if spec.Family == EnqueueLatencyMs || spec.Family == CycleLatencyMs {
		return slices.Contains(parts, ClaimsAlone)
	}
	switch spec.Name {
	case CPUUsPerCycle:
		return slices.Contains(parts, Elsewhere)
	case ServerCPUUsPerCycle, ServerCPUCores:
		return slices.Contains(parts, InOneProcess) || slices.Contains(parts, NoServer) || slices.Contains(parts, Elsewhere)
	case ClientCPUUsPerCycle:
		return slices.Contains(parts, InOneProcess) || slices.Contains(parts, NoServer)
	case ServerRSSMBMax:
		return slices.Contains(parts, NoServer) || slices.Contains(parts, Elsewhere)
	}
	return false
}

// SummariseLedger returns the sums of tasks and reads at fault over rounds, or an empty map without
// rounds. N of a metric is the number of rounds that have it.
func SummariseLedger(rounds []Round) map[string]Metric {
	metrics := make(map[string]Metric)
	for _, r := range rounds {
		for name, v := range ledgerMetrics(r.Ledger) {
			m, has := metrics[name]
			if !has {
				spec, _ := Lookup(name)
				m = Metric{Unit: spec.Unit, Low: v, High: v}
			}
			m.N++
			m.Median += v
			m.Low, m.High = min(m.Low, v), max(m.High, v)
			metrics[name] = m
		}
	}
	return metrics
}

// mergeTimed merges the histograms of the timed rounds, each of which must have exactly one set of
// histograms in hists.
func mergeTimed(timed []Round, hists []RoundHistograms) (Histograms, error) {
	sets := make([]Histograms, 0, len(timed))
	for _, r := range timed {
		found := 0
		for _, h := range hists {
			if h.Round == r.Number {
				sets = append(sets, h.Histograms)
				found++
			}
		}
		if found != 1 {
			return Histograms{}, fmt.Errorf("round %d has %d sets of histograms, not one", r.Number, found)
		}
	}
	return Merge(sets...)
}

func having(name string, rounds []Round) []Round {
	return slices.DeleteFunc(slices.Clone(rounds), func(r Round) bool { _, has := r.Metrics[name]; return !has })
}

// valuesOf returns the metric's value in each of rounds. It fails if any is missing or not finite.
func valuesOf(name string, rounds []Round) ([]float64, error) {
	values := make([]float64, 0, len(rounds))
	for _, r := range rounds {
		v, found := r.Metrics[name]
		if !found {
			return nil, fmt.Errorf("%s: round %d has no value", name, r.Number)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s: round %d has the value %v", name, r.Number, v)
		}
		values = append(values, v)
	}
	return values, nil
}

// unknownMetrics returns an error for each metric that is not in the table. An unknown metric has
// no unit and cannot be summarised.
func unknownMetrics(rounds []Round) []error {
	var problems []error
	for _, r := range rounds {
		for _, name := range slices.Sorted(maps.Keys(r.Metrics)) {
			if _, known := Lookup(name); !known {
				problems = append(problems, fmt.Errorf("%s: round %d reports a metric that is not in the table of metrics", name, r.Number))
			}
		}
	}
	return problems
}

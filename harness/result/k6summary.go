package result

import (
	"errors"
	"io"
)

// WriteK6Summary writes the metrics of r in the format of k6's --summary-export, for tools that
// read it. Each metric is a gauge of the same name: value is its median, min and max are its Low
// and High. The completions of the timed rounds are the counter "iterations", whose rate is the
// median rate. WriteK6Summary fails for a run with a sweep, because k6's format has no points. For
// a run whose ledger does not balance it writes only the counts of tasks at fault.
func WriteK6Summary(w io.Writer, r *Result) error {
	if len(r.Points) > 0 {
		return errors.New("write the summary of k6: the run has a sweep, but k6's format has one value of each metric: use csv")
	}
	metrics := map[string]map[string]float64{}
	for name, m := range Published(r) {
		if m.N > 0 {
			metrics[name] = map[string]float64{"value": m.Median, "min": m.Low, "max": m.High}
		}
	}
	if rate, found := r.Metrics[CyclesPerS]; found && r.Verdict != Incorrect {
		var cycles uint64
		for _, round := range r.Rounds {
			if round.Timed() {
				cycles += round.Cycles
			}
		}
		metrics["iterations"] = map[string]float64{"count": float64(cycles), "rate": rate.Median}
	}
	return writeJSON(w, "the summary of k6", map[string]any{
		"metrics": metrics,
		"root_group": map[string]any{
			"name": "", "path": "", "id": "d41d8cd98f00b204e9800998ecf8427e", "groups": map[string]any{}, "checks": map[string]any{},
		},
	})
}

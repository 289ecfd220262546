package figures

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// k6Name is the name of the figures from a k6 summary, because a summary contains no name.
const k6Name = "k6"

// readK6 reads both kinds of k6's summaries. In the file of --summary-export, a metric directly
// contains its values. In the data passed to a script's handleSummary, a metric contains a type, a
// kind of content and the values. The metric of a figure is k6's metric, a dot and the statistic.
func readK6(text []byte) ([]Figure, error) {
	var summary struct {
		Metrics map[string]map[string]json.RawMessage `json:"metrics"`
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		return nil, fmt.Errorf("summary of k6: %w", err)
	}
	if summary.Metrics == nil {
		return nil, fmt.Errorf(`summary of k6: the document has no "metrics": make it with k6's --summary-export, or write the data passed to handleSummary`)
	}
	var all []Figure
	for _, metric := range slices.Sorted(maps.Keys(summary.Metrics)) {
		values, unit := summary.Metrics[metric], ""
		if raw, nested := values["values"]; nested {
			switch contains := string(values["contains"]); contains {
			case `"time"`:
				unit = "ms"
			case `"data"`:
				unit = "B"
			}
			if err := json.Unmarshal(raw, &values); err != nil {
				return nil, fmt.Errorf("summary of k6: metrics.%s.values: %w", metric, err)
			}
		}
		for _, statistic := range slices.Sorted(maps.Keys(values)) {
			var v *float64 // nil: k6 writes null for a statistic without a sample
			if json.Unmarshal(values[statistic], &v) != nil || v == nil {
				continue // thresholds and other values that are not numbers
			}
			all = append(all, Figure{Name: k6Name, Round: 1, Metric: metric + "." + statistic, Unit: unitOf(statistic, unit), Value: *v})
		}
	}
	return all, nil
}

// unitOf returns the unit of a statistic of a metric. Counts and rates do not have the metric's
// unit.
func unitOf(statistic, unit string) string {
	switch statistic {
	case "count", "passes", "fails":
		return ""
	case "rate":
		if unit != "" {
			return unit + "/s"
		}
		return ""
	}
	return unit
}

// WriteK6 writes the figures in the format of k6's --summary-export. The part of a metric after its
// last dot is the statistic if k6 has a statistic of that name; otherwise the figure is the
// metric's value. The format stores one value for each statistic, so WriteK6 fails if the figures
// have several names or rounds.
func WriteK6(w io.Writer, all []Figure) error {
	metrics := map[string]map[string]float64{}
	for _, f := range all {
		if f.Name != all[0].Name {
			return fmt.Errorf("write the summary of k6: the figures have several names (%s, %s), but the format has one: use csv or bench", all[0].Name, f.Name)
		}
		if f.Round > 1 {
			return fmt.Errorf("write the summary of k6: %s has several rounds, but the format has one: use csv or bench", f.Metric)
		}
		metric, statistic := f.Metric, "value"
		if at := strings.LastIndexByte(f.Metric, '.'); at > 0 && isStatistic(f.Metric[at+1:]) {
			metric, statistic = f.Metric[:at], f.Metric[at+1:]
		}
		if metrics[metric] == nil {
			metrics[metric] = map[string]float64{}
		}
		metrics[metric][statistic] = f.Value
	}
	text, err := json.MarshalIndent(map[string]any{"metrics": metrics}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the summary of k6: %w", err)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the summary of k6: %w", err)
	}
	return nil
}

func isStatistic(s string) bool {
	return strings.HasPrefix(s, "p(") && strings.HasSuffix(s, ")") ||
		slices.Contains([]string{"avg", "min", "med", "max", "count", "rate", "value", "passes", "fails"}, s)
}

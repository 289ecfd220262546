package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
)

// csvHeader names the columns of WriteCSV. Each value has its unit in the same row, because rows
// are of different metrics.
var csvHeader = []string{"run", "scenario", "point", "round", "kind", "verdict", "window_s", "metric", "unit", "value"}

// WriteCSV writes the metrics of all rounds of r for a spreadsheet: a header, and a row for each
// metric of each round. The rows are sorted by round and then by the name of the metric. For a run
// whose ledger does not balance it writes only the counts of tasks at fault, because all other
// figures are meaningless. The kind of a round is timed, profiled, "timed, profiled" or
// calibration.
func WriteCSV(w io.Writer, r *Result) error {
	out := csv.NewWriter(w)
	rows := [][]string{csvHeader}
	names := map[int]string{}
	for _, p := range r.Points {
		names[p.Number] = p.Name
	}
	for _, round := range r.Rounds {
		kind := "timed"
		switch {
		case round.Calibration:
			kind = "calibration"
		case round.TimedProfiled():
			kind = "timed, profiled"
		case round.Profiled:
			kind = "profiled"
		}
		for _, name := range slices.Sorted(maps.Keys(round.Metrics)) {
			spec, _ := Lookup(name)
			if r.Verdict == Incorrect && !spec.OfLedger() {
				continue
			}
			rows = append(rows, []string{
				r.Run, r.Scenario, names[round.Point], strconv.Itoa(round.Number), kind, string(round.Verdict),
				decimal(round.WindowSeconds), name, spec.Unit, decimal(round.Metrics[name]),
			})
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

package figures

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
)

var header = []string{"name", "round", "metric", "unit", "value"}

// WriteCSV writes a header and a row for each figure.
func WriteCSV(w io.Writer, all []Figure) error {
	out := csv.NewWriter(w)
	rows := [][]string{header}
	for _, f := range all {
		rows = append(rows, []string{f.Name, strconv.Itoa(f.Round), f.Metric, f.Unit, strconv.FormatFloat(f.Value, 'f', -1, 64)})
	}
	if err := out.WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func isCSV(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	columns, err := csv.NewReader(bytes.NewReader(line)).Read()
	return err == nil && slices.Contains(columns, "metric") && slices.Contains(columns, "value")
}

// readCSV reads the output of WriteCSV and of `prony report --format csv`. It skips rows of rounds
// that were not timed, or whose verdict makes the figures meaningless. It ignores other columns.
func readCSV(text []byte) ([]Figure, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("CSV: %w", err)
	}
	columns := rows[0]
	var all []Figure
	for i, row := range rows[1:] {
		cell := func(column string) string {
			if at := slices.Index(columns, column); at >= 0 {
				return row[at]
			}
			return ""
		}
		if kind := cell("kind"); kind != "" && kind != "timed" {
			continue
		}
		if slices.Contains([]string{"invalid", "incorrect", "misconfigured"}, cell("verdict")) {
			continue
		}
		f := Figure{Name: cell("name"), Metric: cell("metric"), Unit: cell("unit")}
		if f.Name == "" {
			f.Name = cell("scenario")
			if point := cell("point"); point != "" {
				f.Name += "/" + point
			}
		}
		if f.Name == "" || f.Metric == "" {
			return nil, fmt.Errorf("CSV: row %d has no name (column name or scenario) or no metric", i+2)
		}
		if f.Value, err = strconv.ParseFloat(cell("value"), 64); err != nil {
			return nil, fmt.Errorf("CSV: row %d: value: %q is not a number", i+2, cell("value"))
		}
		all = append(all, f)
	}
	number(all)
	return all, nil
}

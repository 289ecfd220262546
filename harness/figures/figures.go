// Package figures converts figures between the files of other tools: Go's benchmark format (benchstat), k6's summaries, and tables for
// spreadsheets (CSV).
//
// Such a file knows less than a run's result does: neither its host and settings, nor whether every task was accounted for. A conversion
// therefore makes no result, and nothing is judged by it.
package figures

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
)

// Figure is one measured value.
type Figure struct {
	Name   string  `json:"name"`  // what was measured: the name of a benchmark, a scenario or a script
	Round  int     `json:"round"` // which repetition of it, from 1
	Metric string  `json:"metric"`
	Unit   string  `json:"unit,omitempty"` // "" if the file does not say it, or says it in the metric's name
	Value  float64 `json:"value"`
}

// BytesMax bounds the size of a file that Read takes.
const BytesMax = 64 << 20

// Read returns the figures of a file, in their order. It tells the three formats apart by how the file begins: k6's summaries are JSON, the
// first line of CSV has the columns metric and value, and all else must be Go's benchmark format. It fails if the file has no figure, if one
// is not a finite number, and if the file is larger than BytesMax.
func Read(r io.Reader) ([]Figure, error) {
	text, err := io.ReadAll(io.LimitReader(r, BytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	if len(text) > BytesMax {
		return nil, fmt.Errorf("read figures: the file is larger than %d MiB", BytesMax>>20)
	}
	read := readBench
	switch start := bytes.TrimSpace(text); {
	case bytes.HasPrefix(start, []byte("{")):
		read = readK6
	case isCSV(start):
		read = readCSV
	}
	all, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	if len(all) == 0 {
		return nil, errors.New("read figures: the file has none: it must be Go's benchmark format, a summary of k6 in JSON, or CSV with the columns metric and value")
	}
	for _, f := range all {
		if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
			return nil, fmt.Errorf("read figures: %s of %s is %v: a figure must be finite", f.Metric, f.Name, f.Value)
		}
	}
	return all, nil
}

// number gives the figures the numbers of their rounds: the nth of a name and metric is of round n.
func number(all []Figure) {
	type key struct{ name, metric string }
	seen := map[key]int{}
	for i := range all {
		k := key{all[i].Name, all[i].Metric}
		seen[k]++
		all[i].Round = seen[k]
	}
}

// Package figures converts figures between the formats of other tools: Go's benchmark format
// (benchstat), k6's summaries, and tables for spreadsheets (CSV).
//
// Such a file contains less information than a run's result: it lacks the host, the settings, and
// the account of every task. A conversion therefore does not produce a result, and no conversion is
// judged.
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
	Name   string `json:"name"`  // the name of a benchmark, a scenario or a script
	Round  int    `json:"round"` // number of the repetition, from 1
	Metric string `json:"metric"`
	// Unit is "" if the file contains no unit, or contains it in the metric's name.
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value"`
}

// BytesMax is the maximum size, in bytes, of a file that Read accepts.
const BytesMax = 64 << 20

// Read returns the figures of a file in their order. It detects the format from the start of the
// file: k6's summaries are JSON. The first line of CSV contains the columns metric and value.
// Anything else must be Go's benchmark format. It fails if the file has no figure, if a figure is
// not finite, and if the file is larger than BytesMax.
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
		return nil, errors.New("read figures: the file has no figures: it must be Go's benchmark format, a summary of k6 in JSON, or CSV with the columns metric and value")
	}
	for _, f := range all {
		if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
			return nil, fmt.Errorf("read figures: %s of %s is %v: a figure must be finite", f.Metric, f.Name, f.Value)
		}
	}
	return all, nil
}

// number sets the rounds of figures: the nth figure of a name and metric belongs to round n.
func number(all []Figure) {
	type key struct{ name, metric string }
	seen := map[key]int{}
	for i := range all {
		k := key{all[i].Name, all[i].Metric}
		seen[k]++
		all[i].Round = seen[k]
	}
}

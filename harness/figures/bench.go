package figures

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"
)

// WriteBench writes the figures in Go's benchmark format: one line for each round of each name, so
// that benchstat sees rounds as repetitions. The unit of a figure is its metric, followed by its
// unit if the metric does not contain it. The iteration count is always 1, because other formats do
// not store it.
func WriteBench(w io.Writer, all []Figure) error {
	type line struct {
		name  string
		round int
	}
	var order []line
	values := map[line][]benchfmt.Value{}
	for _, f := range all {
		l := line{f.Name, f.Round}
		if values[l] == nil {
			order = append(order, l)
		}
		values[l] = append(values[l], benchfmt.Value{Value: f.Value, Unit: benchUnit(f)})
	}
	out := benchfmt.NewWriter(w)
	for _, l := range order {
		if err := out.Write(&benchfmt.Result{Name: benchfmt.Name(benchName(l.name)), Iters: 1, Values: values[l]}); err != nil {
			return fmt.Errorf("write Go's benchmark format: %w", err)
		}
	}
	return nil
}

// benchName returns a name in the form that the format requires: without spaces and with an initial
// capital.
func benchName(name string) string {
	name = oneWord(name)
	return strings.ToUpper(name[:1]) + name[1:]
}

func benchUnit(f Figure) string {
	unit := oneWord(f.Metric)
	if f.Unit != "" && !strings.Contains(unit, f.Unit) {
		unit += "-" + oneWord(f.Unit)
	}
	return unit
}

func oneWord(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return '_'
		}
		return r
	}, s)
}

func readBench(text []byte) ([]Figure, error) {
	in := benchfmt.NewReader(bytes.NewReader(text), "the file")
	var all []Figure
	for in.Scan() {
		switch record := in.Result().(type) {
		case *benchfmt.SyntaxError:
			return nil, fmt.Errorf("read Go's benchmark format: %w", record)
		case *benchfmt.Result:
			for _, v := range record.Values {
				all = append(all, Figure{Name: string(record.Name), Metric: v.Unit, Value: v.Value})
			}
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read Go's benchmark format: %w", err)
	}
	number(all)
	return all, nil
}

package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// number writes v for reading, with three significant digits.
func number(v float64) string { return result.FormatNumber(v) }

// short is number without trailing zeros, for values that are settings rather than measurements.
func short(v float64) string {
	s := number(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// count writes n exactly, thousands set off by commas.
func count(n uint64) string { return result.FormatCount(n) }

// integral writes a metric that counts something: exactly where it is a whole number.
func integral(v float64) string {
	if v >= 0 && v < 1<<53 && v == math.Trunc(v) {
		return count(uint64(v))
	}
	return number(v)
}

// percent writes a share of 0 to 1.
func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// scaled writes a value of a profile in a unit that fits: nanoseconds as time, bytes as decimal multiples.
func scaled(v float64, unit string) string {
	steps := map[string][]struct {
		from   float64
		symbol string
	}{
		"nanoseconds": {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}},
		"bytes":       {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}},
	}[unit]
	if len(steps) == 0 {
		return number(v)
	}
	for _, step := range steps {
		if math.Abs(v) >= step.from {
			return number(v/step.from) + " " + step.symbol
		}
	}
	return number(v) + " " + steps[len(steps)-1].symbol
}

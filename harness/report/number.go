package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// number writes v for reading: three significant digits, thousands set off by commas. Values below a thousandth
// or from a quadrillion are written as powers of ten.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "not a number"
	}
	if v == 0 {
		return "0"
	}
	magnitude := math.Abs(v)
	if magnitude < 1e-3 || magnitude >= 1e15 {
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	// Rounding to three digits first keeps 999.6 from becoming 1000 with a digit too many.
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		rounded = v
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(rounded)))))
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(rounded, 'f', decimals, 64), ".")
	if fraction == "" {
		return thousands(whole)
	}
	return thousands(whole) + "." + fraction
}

// short is number without trailing zeros, for values that are settings rather than measurements.
func short(v float64) string {
	s := number(v)
	if strings.Contains(s, ".") && !strings.Contains(s, "e") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// count writes n exactly, thousands set off by commas.
func count(n uint64) string { return thousands(strconv.FormatUint(n, 10)) }

// integral writes a metric that counts something: exactly where it is a whole number.
func integral(v float64) string {
	if v >= 0 && v < 1<<53 && v == math.Trunc(v) {
		return count(uint64(v))
	}
	return number(v)
}

func thousands(digits string) string {
	sign, digits := cutSign(digits)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

func cutSign(digits string) (sign, rest string) {
	if rest, found := strings.CutPrefix(digits, "-"); found {
		return "-", rest
	}
	return "", digits
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

package result

import (
	"math"
	"strconv"
	"strings"
)

// FormatNumber writes v for reading: three significant digits, thousands set off by commas. Values below a thousandth
// or from a quadrillion are written as powers of ten.
func FormatNumber(v float64) string {
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

// FormatCount writes n exactly, thousands set off by commas.
func FormatCount(n uint64) string { return thousands(strconv.FormatUint(n, 10)) }

func thousands(digits string) string {
	digits, negative := strings.CutPrefix(digits, "-")
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

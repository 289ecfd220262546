package gate

import (
	"math"
	"strconv"
	"strings"
)

// number writes v with four significant digits and thousands set off by commas: 5,912, 12.35, 0.15.
func number(v float64) string { return digits(v, 4) }

// pair writes two numbers with as many digits as it takes to tell them apart, four where that is enough.
func pair(a, b float64) (string, string) {
	for n := 4; n < 17; n++ {
		if x, y := digits(a, n), digits(b, n); x != y || a == b {
			return x, y
		}
	}
	return digits(a, 17), digits(b, 17)
}

// digits writes v with n significant digits, more where the whole part has more.
func digits(v float64, n int) string {
	magnitude := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "not a number"
	case v == 0:
		return "0"
	case magnitude < 1e-3 || magnitude >= 1e15:
		return strconv.FormatFloat(v, 'e', n-1, 64)
	}
	decimals := max(0, n-1-int(math.Floor(math.Log10(magnitude))))
	text := strconv.FormatFloat(magnitude, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	var b strings.Builder
	if v < 0 {
		b.WriteByte('-')
	}
	for i, d := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		b.WriteByte('.')
		b.WriteString(fraction)
	}
	return b.String()
}

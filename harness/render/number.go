package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// notANumber is the text for NaN and the infinities.
const notANumber = "not a number"

// Values below smallest, or at least large, are formatted as powers of ten.
const (
	smallest = 1e-3
	large    = 1e15
)

// Number formats a measured value with three significant digits, including trailing zeros, and
// commas between thousands: 182,000, 12.3, 1.00.
func Number(v float64) string {
	if text, done := special(v, 'e', 2); done {
		return text
	}
	rounded := Rounded(v, 3) // first, so that 999.6 does not become 1000 with an additional digit
	return thousands(strconv.FormatFloat(rounded, 'f', decimals(rounded, 3), 64))
}

// Rounded returns v with n significant digits. It does not change NaN and the infinities.
func Rounded(v float64, n int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', n-1, 64), 64)
	if err != nil { // the largest finite numbers overflow when rounded up
		return v
	}
	return rounded
}

// Digits formats v with n significant digits, or more if the whole part has more, without trailing
// zeros of the fraction. With n = 4 it returns 5,912, 181,234, 12.35 and 0.15.
func Digits(v float64, n int) string {
	if text, done := special(v, 'g', n); done {
		return text
	}
	text := strconv.FormatFloat(v, 'f', decimals(v, n), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return thousands(text)
}

// Distinct formats two numbers with at least n digits, and with more if that is needed to
// distinguish them.
func Distinct(a, b float64, n int) (string, string) {
	for ; n < 17; n++ {
		if x, y := Digits(a, n), Digits(b, n); x != y || a == b {
			return x, y
		}
	}
	return Digits(a, n), Digits(b, n)
}

// special formats values that cannot be shown well with a fixed number of decimals.
func special(v float64, format byte, precision int) (text string, done bool) {
	switch magnitude := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return notANumber, true
	case v == 0:
		return "0", true
	case magnitude < smallest || magnitude >= large:
		return strconv.FormatFloat(v, format, precision, 64), true
	}
	return "", false
}

func decimals(v float64, n int) int {
	return max(0, n-1-int(math.Floor(math.Log10(math.Abs(v)))))
}

// Count formats a whole number exactly, with commas between thousands.
func Count[T ~int | ~int64 | ~uint64](n T) string { return thousands(fmt.Sprint(n)) }

// Whole formats a whole number exactly, like Count, and any other number like Number. It is for
// values that are either counts or means of counts.
func Whole(v float64) string {
	if v >= 0 && v < 1<<53 && v == math.Trunc(v) {
		return Count(uint64(v))
	}
	return Number(v)
}

// Plural formats a number of items: 1 round, 1,024 rounds.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// Percent formats a fraction in percent with one decimal: 0.1234 is 12.3 %.
func Percent(part float64) string { return PercentTo(part, 1) }

// PercentTo formats a fraction in percent with the given number of decimals.
func PercentTo(part float64, decimals int) string {
	return strconv.FormatFloat(100*part, 'f', decimals, 64) + " %"
}

// Change formats a ratio as a difference from 1 in percent, with its sign: 1.031 is +3.1 %.
func Change(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

func thousands(number string) string {
	whole, fraction, _ := strings.Cut(number, ".")
	sign := ""
	if rest, negative := strings.CutPrefix(whole, "-"); negative {
		sign, whole = "-", rest
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

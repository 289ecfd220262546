// Package longtest selects the form of a test. `make test` runs the short form of every test. `make
// test-long` sets PRONY_LONG and runs the long form: it includes tests that measure or take long,
// and more repetitions of the others.
//
// PRONY_LONG is the share of the long form to run: 1 for all of it, 0.1 for a tenth, 2 for twice as
// much.
package longtest

import (
	"math"
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that requests the long form.
const Variable = "PRONY_LONG"

// Only skips a test without a short form, unless the long form is requested.
func Only(t testing.TB) {
	t.Helper()
	if share(t) == 0 {
		t.Skipf("this test has only a long form: set %s=1, or run make test-long", Variable)
	}
}

// Asked reports whether the long form is requested.
func Asked(t testing.TB) bool {
	t.Helper()
	return share(t) > 0
}

// Count returns a number of repetitions: short, or in the long form the requested share of long,
// but at least short.
func Count(t testing.TB, short, long int) int {
	t.Helper()
	s := share(t)
	if s == 0 {
		return short
	}
	return max(short, int(math.Ceil(float64(long)*s)))
}

// share returns the requested share of the long form, or 0 for the short form.
func share(t testing.TB) float64 {
	t.Helper()
	text := os.Getenv(Variable)
	if text == "" {
		return 0
	}
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || s <= 0 || math.IsInf(s, 1) || math.IsNaN(s) {
		t.Fatalf("%s is %q: set it to a number above 0, the share of the long form to run, such as 1 or 0.1", Variable, text)
	}
	return s
}

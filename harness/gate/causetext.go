package gate

import (
	"strings"

	"github.com/pronybench/prony/harness/render"
)

// short is a function's name without the path before its package.
func short(function string) string {
	return function[strings.LastIndexByte(function, '/')+1:]
}

// named is a function with the two that called it, as far as they are known: the nearest alone may be a helper of many.
func named(function string, callers []string) string {
	switch len(callers) {
	case 0:
		return short(function)
	case 1:
		return short(function) + ", called by " + short(callers[0]) + ","
	}
	return short(function) + ", called by " + short(callers[0]) + " for " + short(callers[1]) + ","
}

// microseconds writes a time, given in microseconds, in the unit that fits.
func microseconds(us float64) string { return render.Nanoseconds(1e3 * us) }

// few writes a count for each cycle: one in a hundred cycles is next to none.
func few(n float64) string {
	switch {
	case n == 0:
		return "none"
	case n < 0.01:
		return "next to none"
	}
	return render.Digits(n, 3)
}

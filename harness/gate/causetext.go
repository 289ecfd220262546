package gate

import "github.com/pronybench/prony/harness/render"

// named writes a function with its two nearest callers, if they are known.
func named(function string, callers []string) string {
	switch len(callers) {
	case 0:
		return render.Function(function)
	case 1:
		return render.Function(function) + ", called by " + render.Function(callers[0]) + ","
	}
	return render.Function(function) + ", called by " + render.Function(callers[0]) + " for " + render.Function(callers[1]) + ","
}

// microseconds writes a time, given in microseconds, in the unit that fits.
func microseconds(us float64) string { return render.Nanoseconds(1e3 * us) }

// few writes a count for each cycle.
func few(n float64) string {
	switch {
	case n == 0:
		return "none"
	case n < 0.01:
		return "next to none"
	}
	return render.Digits(n, 3)
}

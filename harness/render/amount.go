package render

import "math"

// step is a multiple of a unit with a separate symbol.
type step struct {
	from   float64
	symbol string
}

// steps are the multiples of the units of profiles, largest first.
var steps = map[string][]step{
	"nanoseconds": {{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {1, " ns"}},
	"bytes":       {{1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}, {1, " B"}},
	"count":       {{1, ""}},
}

// Nanoseconds formats a time in the unit that fits: 18.2 µs.
func Nanoseconds(ns float64) string { return Amount(ns, "nanoseconds") }

// Amount formats a value of a profile, or a part of such a value, in a suitable multiple of its
// unit and with the digits of Number: 18.2 µs, 4.10 kB, 12.0.
func Amount(v float64, unit string) string {
	multiples, known := steps[unit]
	if !known {
		return Number(v) + " " + unit
	}
	for _, s := range multiples {
		if math.Abs(v) >= s.from*0.9995 { // 999.6 of a unit is formatted as 1.00 of the next
			return Number(v/s.from) + s.symbol
		}
	}
	return Number(v) + multiples[len(multiples)-1].symbol
}

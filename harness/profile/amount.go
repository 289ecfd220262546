package profile

import (
	"math"
	"strconv"
)

// Nanoseconds writes a time with three significant digits: "18.2 µs".
func Nanoseconds(ns float64) string {
	return scaled(ns, []step{{1e9, " s"}, {1e6, " ms"}, {1e3, " µs"}, {0, " ns"}})
}

// Amount writes a value of a profile, or a part of one, in its unit with three significant digits: "18.2 µs", "4.1 KiB", "12".
func Amount(v float64, unit string) string {
	switch unit {
	case "nanoseconds":
		return Nanoseconds(v)
	case "bytes":
		return scaled(v, []step{{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {0, " B"}})
	case "count":
		return scaled(v, []step{{0, ""}})
	}
	return scaled(v, []step{{0, " " + unit}})
}

// step is a unit and from where on it is used.
type step struct {
	from   float64
	symbol string
}

func scaled(v float64, steps []step) string {
	for _, s := range steps {
		// 999.6 of a unit is written as 1 of the next.
		if math.Abs(v) < s.from*0.9995 {
			continue
		}
		if s.from > 0 {
			v /= s.from
		}
		digits := 2
		if v != 0 {
			digits = min(max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))), 5)
		}
		text := strconv.FormatFloat(v, 'f', digits, 64)
		return trimZeros(text) + s.symbol
	}
	return ""
}

// trimZeros removes zeros that end a fraction, and the point of one that was nothing else.
func trimZeros(text string) string {
	end := len(text)
	for i := range text {
		if text[i] != '.' {
			continue
		}
		for end > i+1 && text[end-1] == '0' {
			end--
		}
		if end == i+1 {
			end = i
		}
	}
	return text[:end]
}

package scenario

import (
	"strconv"
	"strings"
)

// units are the units of a quantity, from largest to smallest.
type units []struct {
	suffix string
	factor float64
}

var (
	payloadUnits  = units{{"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
	diskUnits     = units{{"GiB", 1 << 30}, {"MiB", 1 << 20}}
	arrivalUnits  = units{{"M/s", 1e6}, {"k/s", 1e3}, {"/s", 1}}
	byteRateUnits = units{{"MiB/s", 1 << 20}, {"KiB/s", 1 << 10}, {"B/s", 1}}
	bitRateUnits  = units{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}} // as in tc(8)
)

// split returns the text before the unit, and the factor of the unit.
func (u units) split(text string) (digits string, factor float64, ok bool) {
	for _, unit := range u {
		if digits, ok = strings.CutSuffix(text, unit.suffix); ok {
			return digits, unit.factor, true
		}
	}
	return "", 0, false
}

// number parses a number with a unit.
func (u units) number(text string) (n float64, ok bool) {
	digits, factor, found := u.split(text)
	n, err := strconv.ParseFloat(digits, 64)
	return n * factor, found && err == nil
}

// whole parses a whole number of at most bits bits with a unit.
func (u units) whole(text string, bits int) (n int64, ok bool) {
	digits, factor, found := u.split(text)
	count, err := strconv.ParseUint(digits, 10, bits)
	return int64(count) * int64(factor), found && err == nil
}

// format formats a quantity in the largest unit that it contains.
func (u units) format(n float64) string {
	unit := u[len(u)-1]
	for _, larger := range u {
		if n >= larger.factor {
			unit = larger
			break
		}
	}
	return strconv.FormatFloat(n/unit.factor, 'g', 6, 64) + unit.suffix
}

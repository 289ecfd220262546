package config

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// day is the longest unit of a duration. Longer units, such as months, vary in length.
const day = 24 * time.Hour

var errDuration = errors.New(`is not a duration: write a number with its unit (ms, s, m, h or d), as in "30s", "1h30m" or "7d"`)

// errLong means that a duration has the right form but is too long.
var errLong = fmt.Errorf("is too long: write at most %q", strconv.FormatInt(int64(math.MaxInt64/day), 10)+"d")

// whole matches durations of any length in whole numbers of units.
var whole = regexp.MustCompile(`^(\d+(ms|s|m|h))+$`)

// ParseDuration parses a duration, which must be a whole number of milliseconds. It accepts the
// format of time.ParseDuration, and whole days such as "7d". It refuses negative durations and
// numbers without a unit.
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange) || err == nil && n > uint64(math.MaxInt64/day):
			return 0, errLong
		case err != nil:
			return 0, errDuration
		}
		return time.Duration(n) * day, nil
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || text == "0":
		if whole.MatchString(text) {
			return 0, errLong
		}
		if n, err := strconv.ParseUint(text, 10, 63); err == nil {
			return 0, fmt.Errorf("has no unit: write %q for seconds", strconv.FormatUint(n, 10)+"s")
		}
		return 0, errDuration
	case d < 0:
		return 0, errors.New("is negative: write 0s or more")
	case d%time.Millisecond != 0:
		return 0, errors.New("is not a whole number of milliseconds")
	}
	return d, nil
}

// FormatDuration formats a duration in a form that ParseDuration accepts, such as "30s", "1h30m" or
// "7d".
func FormatDuration(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// sizeUnits are the units of sizes. "B" is last, because the names of all other units end with it.
var sizeUnits = []struct {
	name  string
	bytes uint64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"B", 1},
}

// ParseSize parses a number of bytes, such as "64KiB", "1MiB", "512B" or "512".
func ParseSize(text string) (uint64, error) {
	number, factor := text, uint64(1)
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, factor = strings.TrimSuffix(n, " "), u.bytes
			break
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return 0, errors.New(`is not a size: write a whole number with its unit (B, KiB, MiB, GiB or TiB), as in "64KiB"`)
	}
	if n > math.MaxInt64/factor {
		return 0, errors.New(`is too large: write less than "8388608TiB"`)
	}
	return n * factor, nil
}

// FormatSize formats a number of bytes in a form that ParseSize accepts. It uses the largest unit
// that makes the number whole.
func FormatSize(bytes uint64) string {
	for _, u := range sizeUnits {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return strconv.FormatUint(bytes/u.bytes, 10) + u.name
		}
	}
	return "0B"
}

// parseMemory parses a size. In addition to the units of ParseSize, it accepts decimal units, as in
// "200MB" and "2GB".
func parseMemory(text string) (uint64, error) {
	for unit, factor := range map[string]uint64{"MB": 1e6, "GB": 1e9} {
		number, ok := strings.CutSuffix(text, unit)
		if !ok {
			continue
		}
		if n, err := strconv.ParseUint(number, 10, 64); err == nil && n <= math.MaxInt64/factor {
			return n * factor, nil
		}
	}
	return ParseSize(text)
}

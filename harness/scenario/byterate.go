package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const byteRateUnits = `a byte rate is a string with B/s, KiB/s or MiB/s, as in "512KiB/s" or "10MiB/s"`

func readByteRate(b *hclfile.Block) float64 {
	text := b.Text("rate", hclfile.TextSpec{MaxBytes: 40, Required: true, Example: "10MiB/s"})
	if text == "" {
		return 0
	}
	size, found := strings.CutSuffix(text, "/s")
	if n, ok := parseSize(size); found && ok {
		if bytes := float64(n); bytes >= 1<<10 && bytes <= 100<<30 {
			return bytes
		}
		b.AttrProblem("rate", fmt.Sprintf("rate is %q; it must be from 1KiB/s to 102400MiB/s", text), "")
		return 0
	}
	b.AttrProblem("rate", fmt.Sprintf("rate is %q, which is not a byte rate", text), byteRateUnits)
	return 0
}

// FormatByteRate formats a rate in bytes per second in the syntax of scenarios.
func FormatByteRate(bytesPerS float64) string {
	unit := byteRates[len(byteRates)-1]
	for _, u := range byteRates {
		if bytesPerS >= u.bytes {
			unit = u
			break
		}
	}
	return strconv.FormatFloat(bytesPerS/unit.bytes, 'g', 6, 64) + unit.suffix
}

// byteRates are the units, from largest to smallest.
var byteRates = []struct {
	suffix string
	bytes  float64
}{{"MiB/s", 1 << 20}, {"KiB/s", 1 << 10}, {"B/s", 1}}

// byteRate is a rate in bytes per second whose text is that of scenarios: "10MiB/s".
type byteRate float64

// IsZero implements the JSON option omitzero.
func (r byteRate) IsZero() bool { return r == 0 }

// MarshalText writes the rate as FormatByteRate does.
func (r byteRate) MarshalText() ([]byte, error) { return []byte(FormatByteRate(float64(r))), nil }

// UnmarshalText reads what MarshalText writes.
func (r *byteRate) UnmarshalText(text []byte) error {
	for _, unit := range byteRates {
		digits, found := strings.CutSuffix(string(text), unit.suffix)
		if n, err := strconv.ParseFloat(digits, 64); found && err == nil {
			*r = byteRate(n * unit.bytes)
			return nil
		}
	}
	return fmt.Errorf("%q is not a byte rate such as 10MiB/s", text)
}

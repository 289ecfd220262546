package scenario

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

const byteRateRemedy = `a byte rate is a string with B/s, KiB/s or MiB/s, as in "512KiB/s" or "10MiB/s"`

func readByteRate(b *hclfile.Block) float64 {
	text := b.Text("rate", hclfile.TextSpec{MaxBytes: 40, Required: true, Example: "10MiB/s"})
	if text == "" {
		return 0
	}
	size, found := strings.CutSuffix(text, "/s")
	if n, ok := payloadUnits.whole(size, 32); found && ok {
		if bytes := float64(n); bytes >= 1<<10 && bytes <= 100<<30 {
			return bytes
		}
		b.AttrProblem("rate", fmt.Sprintf("rate is %q; it must be from 1KiB/s to 102400MiB/s", text), "")
		return 0
	}
	b.AttrProblem("rate", fmt.Sprintf("rate is %q, which is not a byte rate", text), byteRateRemedy)
	return 0
}

// FormatByteRate formats a rate in bytes per second in the syntax of scenarios.
func FormatByteRate(bytesPerS float64) string { return byteRateUnits.format(bytesPerS) }

// byteRate is a rate in bytes per second whose text is that of scenarios: "10MiB/s".
type byteRate float64

// IsZero implements the JSON option omitzero.
func (r byteRate) IsZero() bool { return r == 0 }

// MarshalText writes the rate as FormatByteRate does.
func (r byteRate) MarshalText() ([]byte, error) { return []byte(FormatByteRate(float64(r))), nil }

// UnmarshalText reads what MarshalText writes.
func (r *byteRate) UnmarshalText(text []byte) error {
	if n, ok := byteRateUnits.number(string(text)); ok {
		*r = byteRate(n)
		return nil
	}
	return fmt.Errorf("%q is not a byte rate such as 10MiB/s", text)
}

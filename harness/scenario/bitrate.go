package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// BitRate is a rate in bits per second, which scenarios write with a unit: "100Mbit".
type BitRate float64

const (
	bitRateMin, bitRateMax = BitRate(1e5), BitRate(1e11)
	bitRateRemedy          = `a bit rate is a string with kbit, Mbit or Gbit, as in "100Mbit" or "2.5Gbit"`
)

func readBitRate(b *hclfile.Block, name string) BitRate {
	text := b.Text(name, hclfile.TextSpec{MaxBytes: 40, Example: "100Mbit"})
	if text == "" {
		return 0
	}
	var rate BitRate
	if err := rate.UnmarshalText([]byte(text)); err != nil {
		b.AttrProblem(name, fmt.Sprintf("%s is %q, which is not a bit rate", name, text), bitRateRemedy)
		return 0
	}
	if rate < bitRateMin || rate > bitRateMax {
		b.AttrProblem(name, fmt.Sprintf("%s is %q; it must be from %s to %s", name, text, bitRateMin, bitRateMax), "")
		return 0
	}
	return rate
}

// String writes the rate as scenarios do.
func (r BitRate) String() string { return bitRateUnits.format(float64(r)) }

// MarshalText writes the rate as String does.
func (r BitRate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (r *BitRate) UnmarshalText(text []byte) error {
	if n, ok := bitRateUnits.number(string(text)); ok && n > 0 {
		*r = BitRate(n)
		return nil
	}
	return fmt.Errorf("%q is not a bit rate such as 100Mbit", text)
}

package hclfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// DurationSpec says what an attribute that is a duration may be.
type DurationSpec struct {
	Min, Max time.Duration
	Default  time.Duration
	Required bool
}

// Duration returns a duration, which is written as a string with its unit.
func (b *Block) Duration(name string, spec DurationSpec) time.Duration {
	v, ok := b.plain(name)
	if !ok {
		b.absent(name, spec.Required, strconv.Quote(FormatDuration(max(spec.Min, time.Second))))
		return spec.Default
	}
	const units = `the units are ns, us, ms, s, m and h, as in "2s", "250ms" or "1m30s"`
	if v.IsNull() || v.Type() != cty.String {
		remedy := units
		if v.Type() == cty.Number {
			// A bare number is most often one of seconds.
			remedy = fmt.Sprintf("a duration has a unit: write %q", formatValue(v)+"s")
		}
		b.wrongType(name, "a duration", v, remedy)
		return spec.Default
	}
	text := v.AsString()
	d, err := time.ParseDuration(text)
	if err != nil {
		remedy := units
		if _, isNumber := integerText(v); isNumber {
			remedy = fmt.Sprintf("a duration has a unit: write %q", text+"s")
		}
		b.AttrProblem(name, fmt.Sprintf("%s is %q, which is not a duration", name, clip(text)), remedy)
		return spec.Default
	}
	if d < spec.Min || d > spec.Max {
		b.AttrProblem(name, fmt.Sprintf("%s is %q; it must be from %s to %s",
			name, clip(text), FormatDuration(spec.Min), FormatDuration(spec.Max)), "")
		return spec.Default
	}
	return d
}

// FormatDuration writes a duration as files do: "2s", "250ms", "10us", "1h30m".
func FormatDuration(d time.Duration) string {
	s := strings.Replace(d.String(), "µ", "u", 1)
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

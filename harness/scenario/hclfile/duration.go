package hclfile

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
)

// DurationSpec constrains an attribute that is a duration.
type DurationSpec struct {
	Min, Max time.Duration
	Default  time.Duration
	Required bool
}

// Duration returns the value of an attribute that is a duration, which files write as a string with
// a unit.
func (b *Block) Duration(name string, spec DurationSpec) time.Duration {
	remedy := `the units are ns, us, ms, s, m and h, as in "2s", "250ms" or "1m30s"`
	v, ok := b.typed(name, want{
		of: cty.String, or: cty.Number, what: "a duration", remedy: remedy,
		required: spec.Required, example: strconv.Quote(FormatDuration(max(spec.Min, time.Second))),
	})
	if !ok {
		return spec.Default
	}
	text := formatValue(v)
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		remedy = fmt.Sprintf("a duration is a string with a unit: write %q", clip(text)+"s")
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || v.Type() == cty.Number:
		b.AttrProblem(name, fmt.Sprintf("%s is %s, which is not a duration", name, clip(quotedValue(v))), remedy)
	case d < spec.Min || d > spec.Max:
		b.AttrProblem(name, fmt.Sprintf("%s is %q; it must be from %s to %s", name, clip(text), FormatDuration(spec.Min), FormatDuration(spec.Max)), "")
	default:
		return d
	}
	return spec.Default
}

// FormatDuration formats a duration in the syntax of files: "2s", "250ms", "10us", "1h30m".
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

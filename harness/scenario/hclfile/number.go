package hclfile

import (
	"fmt"
	"math"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// Bool returns the value of an attribute that is true or false. It returns false if the attribute
// is absent.
func (b *Block) Bool(name string) bool {
	v, ok := b.typed(name, want{of: cty.Bool, what: "true or false", remedy: "write " + name + " = true, without quotes"})
	return ok && v.True()
}

// IntSpec constrains an attribute that is a whole number.
type IntSpec struct {
	Min, Max int
	Default  int // when absent and not required
	Required bool
	// Why is the remedy for a value out of range; may be empty.
	Why string
}

// Int returns the value of an attribute that is a whole number.
func (b *Block) Int(name string, spec IntSpec) int {
	allowed := fmt.Sprintf("a whole number from %d to %d", spec.Min, spec.Max)
	if spec.Min == spec.Max {
		allowed = strconv.Itoa(spec.Min)
	}
	v, ok := b.typed(name, want{
		of: cty.Number, what: "a whole number", remedy: "write " + allowed + ", without quotes",
		// 0 is seldom a useful example.
		required: spec.Required, example: strconv.Itoa(max(spec.Min, min(1, spec.Max))),
	})
	if !ok {
		return spec.Default
	}
	n, whole := Whole(v)
	if !whole || n < spec.Min || n > spec.Max {
		b.AttrProblem(name, fmt.Sprintf("%s is %s; it must be %s", name, formatValue(v), allowed), spec.Why)
		return spec.Default
	}
	return n
}

// NumberSpec constrains an attribute that is a number.
type NumberSpec struct {
	Required  bool
	AllowZero bool
	Example   string
}

// Number returns the value of an attribute that is a finite number above zero, or zero if spec
// allows it. ok is false if the attribute is not set or a problem was noted.
func (b *Block) Number(name string, spec NumberSpec) (n float64, ok bool) {
	v, ok := b.typed(name, want{of: cty.Number, what: "a number", required: spec.Required, example: spec.Example})
	if !ok {
		return 0, false
	}
	n, _ = v.AsBigFloat().Float64()
	if math.IsInf(n, 0) || n < 0 || n == 0 && !spec.AllowZero {
		b.AttrProblem(name, fmt.Sprintf("%s is %s; it must be above 0 and finite", name, formatValue(v)), "")
		return 0, false
	}
	return n, true
}

// NoLimit is the value of a limit attribute that means no limit.
const NoLimit = "any"

// LimitSpec constrains an attribute that is a limit.
type LimitSpec struct {
	Max     float64
	Default *float64 // nil: without the attribute there is no limit
}

// Limit returns the value of a limit attribute: a number from 0 to spec.Max, or nil for no limit,
// which files write as "any".
func (b *Block) Limit(name string, spec LimitSpec) *float64 {
	remedy := fmt.Sprintf("write %s = 5, or %s = %q for no limit", name, name, NoLimit)
	v, ok := b.typed(name, want{of: cty.Number, or: cty.String, what: "a number", remedy: remedy})
	switch {
	case !ok:
		return spec.Default
	case formatValue(v) == NoLimit:
		return nil
	case v.Type() == cty.String:
		b.wrongType(name, "a number", v, remedy)
		return spec.Default
	}
	n, _ := v.AsBigFloat().Float64()
	if n < 0 || n > spec.Max {
		b.AttrProblem(name, fmt.Sprintf("%s is %s; it must be from 0 to %s", name, formatValue(v), strconv.FormatFloat(spec.Max, 'f', -1, 64)), remedy)
		return spec.Default
	}
	return &n
}

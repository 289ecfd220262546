package hclfile

import (
	"fmt"
	"math"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// Bool returns whether an attribute is true; one that is absent is false.
func (b *Block) Bool(name string) bool {
	v, ok := b.typed(name, want{of: cty.Bool, what: "true or false", remedy: "write " + name + " = true, without quotes"})
	return ok && v.True()
}

// IntSpec says what an attribute that is a whole number may be.
type IntSpec struct {
	Min, Max int
	Default  int // when absent and not required
	Required bool
	// Why is the remedy of a value out of range; may be empty.
	Why string
}

// Int returns a whole number.
func (b *Block) Int(name string, spec IntSpec) int {
	allowed := fmt.Sprintf("a whole number from %d to %d", spec.Min, spec.Max)
	if spec.Min == spec.Max {
		allowed = strconv.Itoa(spec.Min)
	}
	v, ok := b.typed(name, want{
		of: cty.Number, what: "a whole number", remedy: "write " + allowed + ", without quotes",
		required: spec.Required, example: strconv.Itoa(max(spec.Min, min(1, spec.Max))), // 0 is seldom what is wanted
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

// NumberSpec says what an attribute that is a number may be.
type NumberSpec struct {
	Required  bool
	AllowZero bool
	Example   string
}

// Number returns a finite number above zero, or zero where that is allowed, and whether it is one.
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

// NoLimit is how a file says that an attribute which is a limit has none.
const NoLimit = "any"

// LimitSpec says what an attribute that is a limit may be.
type LimitSpec struct {
	Max     float64
	Default *float64 // nil: without the attribute there is no limit
}

// Limit returns a number from 0 to the spec's Max, or nil where there is no limit: the attribute is
// "any".
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

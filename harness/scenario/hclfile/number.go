package hclfile

import (
	"fmt"
	"math"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// IntSpec says what an attribute that is a whole number may be.
type IntSpec struct {
	Min, Max int
	Default  int // when absent and not required
	Required bool
	// Why is added to the remedy of a value out of range; may be empty.
	Why string
}

// Int returns a whole number.
func (b *Block) Int(name string, spec IntSpec) int {
	v, ok := b.plain(name)
	if !ok {
		b.absent(name, spec.Required, fmt.Sprintf("%d", spec.Min))
		return spec.Default
	}
	if v.IsNull() || v.Type() != cty.Number {
		remedy := fmt.Sprintf("write a number from %d to %d, without quotes", spec.Min, spec.Max)
		if spec.Min == spec.Max {
			remedy = fmt.Sprintf("write %s = %d", name, spec.Min)
		}
		if n, isText := integerText(v); isText {
			remedy = "write " + name + " = " + n + ", without quotes"
		}
		b.wrongType(name, "a whole number", v, remedy)
		return spec.Default
	}
	n, exact := v.AsBigFloat().Int64()
	if exact != 0 || n < int64(spec.Min) || n > int64(spec.Max) {
		message := fmt.Sprintf("%s is %s; it must be a whole number from %d to %d", name, b.shown(name, v), spec.Min, spec.Max)
		if spec.Min == spec.Max {
			message = fmt.Sprintf("%s is %s; it must be %d", name, b.shown(name, v), spec.Min)
		}
		b.AttrProblem(name, message, spec.Why)
		return spec.Default
	}
	return int(n)
}

// written is an attribute's value as the file has it.
func (b *Block) written(name string) string {
	a := b.attrs[name]
	return a.f.text(a.at())
}

// shown is an attribute's value v for a message: as the file has it, and where that is an expression, what it makes.
func (b *Block) shown(name string, v cty.Value) string {
	text, a := b.written(name), b.attrs[name]
	if a.computed || !isWrittenOut(a.expr) {
		return fmt.Sprintf("%s (%s)", formatValue(v), text)
	}
	return text
}

// integerText returns a string value that holds nothing but digits.
func integerText(v cty.Value) (string, bool) {
	if v.IsNull() || v.Type() != cty.String {
		return "", false
	}
	s := v.AsString()
	if _, err := strconv.Atoi(s); err != nil {
		return "", false
	}
	return s, true
}

// absent notes that a required attribute is not set.
func (b *Block) absent(name string, required bool, example string) {
	if required && !b.Has(name) {
		b.missing(name, fmt.Sprintf("add %s = %s", name, example))
	}
}

// NumberSpec says what an attribute that is a number may be.
type NumberSpec struct {
	Required  bool
	AllowZero bool
	Example   string
}

// Number returns a finite number above zero, or zero where that is allowed, and whether it is one.
func (b *Block) Number(name string, spec NumberSpec) (n float64, ok bool) {
	v, ok := b.plain(name)
	if !ok {
		b.absent(name, spec.Required, spec.Example)
		return 0, false
	}
	if v.IsNull() || v.Type() != cty.Number {
		b.wrongType(name, "a number", v, fmt.Sprintf("write %s = %s", name, spec.Example))
		return 0, false
	}
	n, _ = v.AsBigFloat().Float64()
	switch {
	case math.IsInf(n, 0):
		b.AttrProblem(name, fmt.Sprintf("%s is %s, which is not finite", name, b.shown(name, v)), "")
	case n < 0 || n == 0 && !spec.AllowZero:
		b.AttrProblem(name, fmt.Sprintf("%s is %s; it must be above 0", name, b.shown(name, v)), "")
	default:
		return n, true
	}
	return 0, false
}

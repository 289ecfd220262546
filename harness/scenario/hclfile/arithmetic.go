package hclfile

import (
	"cmp"
	"fmt"
	"math/big"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// operations are the operators that files may hold. Each stores its result in z, which has the precision of HCL's
// numbers.
var operations = map[*hclsyntax.Operation]func(z, x, y *big.Float) *big.Float{
	hclsyntax.OpAdd:      (*big.Float).Add,
	hclsyntax.OpSubtract: (*big.Float).Sub,
	hclsyntax.OpMultiply: (*big.Float).Mul,
	hclsyntax.OpDivide:   (*big.Float).Quo,
}

// precision is that of HCL's numbers, in bits.
const precision = 512

// calculated evaluates an operation of two numbers. A multiple of a scale can be multiplied with and divided by
// a number, and added to another one.
func (e *evaluation) calculated(x *hclsyntax.BinaryOpExpr) (cty.Value, bool) {
	left, ok := e.operand(x.LHS)
	right, rightOK := e.operand(x.RHS)
	if !ok || !rightOK {
		return cty.NilVal, false
	}
	scale, fits := scaled(x.Op, left, right)
	if !fits {
		return e.problem(x, e.text(x)+" is not a multiple of "+scale, "a multiple is written as in 0.5 * "+scale)
	}
	left, _ = left.Unmark()
	right, _ = right.Unmark()
	a, b := left.AsBigFloat(), right.AsBigFloat()
	if x.Op == hclsyntax.OpDivide && b.Sign() == 0 {
		return e.problem(x.RHS, e.text(x)+" divides by 0", "")
	}
	v := cty.NumberVal(tidy(operations[x.Op](new(big.Float).SetPrec(precision), a, b)))
	if scale != "" {
		v = v.Mark(Scale(scale))
	}
	return v, true
}

// negated evaluates -x.
func (e *evaluation) negated(x *hclsyntax.UnaryOpExpr) (cty.Value, bool) {
	v, ok := e.value(x.Val)
	if !ok {
		return v, false
	}
	plain, marks := v.Unmark()
	if plain.IsNull() || plain.Type() != cty.Number {
		return e.problem(x, fmt.Sprintf("%s: - takes a number, not %s", e.text(x), TypeName(plain)), "")
	}
	return cty.NumberVal(new(big.Float).Neg(plain.AsBigFloat())).WithMarks(marks), true
}

// operand evaluates one side of an operation, which is a number that can be calculated with.
func (e *evaluation) operand(expr hclsyntax.Expression) (cty.Value, bool) {
	v, ok := e.value(expr)
	if !ok {
		return v, false
	}
	plain, _ := v.Unmark()
	switch {
	case !plain.IsNull() && plain.Type() == cty.String:
		return e.problem(expr, fmt.Sprintf("%s is a string, which can't be calculated with", e.text(expr)), `a string is put together as in "${var.n}s"`)
	case plain.IsNull() || plain.Type() != cty.Number:
		return e.problem(expr, fmt.Sprintf("%s is %s, which can't be calculated with", e.text(expr), TypeName(plain)), "")
	case !isModest(plain.AsBigFloat()):
		return e.problem(expr, e.text(expr)+" is too large or too small to be calculated with", "")
	}
	return v, true
}

// scaled returns the scale of an operation's result, "" where it is a plain number, and whether the scales of its
// sides fit together; where they don't, the scale is that of one of them.
func scaled(op *hclsyntax.Operation, left, right cty.Value) (scale string, fits bool) {
	l, r := scaleOf(left), scaleOf(right)
	switch {
	case l == "" && r == "":
		return "", true
	case op == hclsyntax.OpMultiply:
		fits = l == "" || r == ""
	case op == hclsyntax.OpDivide:
		fits = r == ""
	default:
		fits = l == r
	}
	return cmp.Or(l, r), fits
}

// scaleOf is the name of what a number is a multiple of, or "".
func scaleOf(v cty.Value) string {
	_, marks := v.Unmark()
	for mark := range marks {
		if scale, is := mark.(Scale); is {
			return string(scale)
		}
	}
	return ""
}

// tidy undoes what binary fractions do to decimal ones: what is a whole number but for the last bits is that number.
func tidy(x *big.Float) *big.Float {
	if !isModest(x) || x.IsInt() {
		return x
	}
	half := new(big.Float).SetPrec(precision).SetFloat64(0.5)
	if x.Sign() < 0 {
		half.Neg(half)
	}
	whole, _ := new(big.Float).SetPrec(precision).Add(x, half).Int(nil)
	nearest := new(big.Float).SetPrec(precision).SetInt(whole)
	off := new(big.Float).SetPrec(precision).Sub(x, nearest)
	if off.Sign() == 0 || off.MantExp(nil) < max(x.MantExp(nil), 0)-precision/2 {
		return nearest
	}
	return x
}

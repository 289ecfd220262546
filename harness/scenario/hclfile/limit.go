package hclfile

import (
	"fmt"
	"math"
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// NoLimit is how a file says that an attribute which is a limit has none.
const NoLimit = "any"

// LimitSpec says what an attribute that is a limit may be.
type LimitSpec struct {
	Max     float64
	Default *float64 // nil: without the attribute there is no limit
}

// Limit returns a number from 0 to the spec's Max, or nil where there is no limit: the attribute is "any".
func (b *Block) Limit(name string, spec LimitSpec) *float64 {
	v, ok := b.plain(name)
	if !ok {
		return spec.Default
	}
	if !v.IsNull() && v.Type() == cty.String && v.AsString() == NoLimit {
		return nil
	}
	remedy := fmt.Sprintf("write %s = 5, or %s = %q for no limit", name, name, NoLimit)
	if v.IsNull() || v.Type() != cty.Number {
		b.wrongType(name, "a number", v, remedy)
		return spec.Default
	}
	n, _ := v.AsBigFloat().Float64()
	if math.IsInf(n, 0) || n < 0 || n > spec.Max {
		b.AttrProblem(name, fmt.Sprintf("%s is %s; it must be from 0 to %s", name, b.written(name), strconv.FormatFloat(spec.Max, 'f', -1, 64)), remedy)
		return spec.Default
	}
	return &n
}

package scenario

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// driversOfLives is the remedy for drivers whose tasks can only be enqueued, claimed and completed.
const driversOfLives = `remove it, or write driver = "stream", "unary", "rest" or "embedded"`

// refuseLife refuses an attribute of the life cycle of tasks if the workload does not support it,
// and reports whether it did. The other parameters complete the messages: script names what a k6
// script decides, null describes the limitation of the driver "null", and none is what a load
// without arrivals has no task for.
func refuseLife(b *hclfile.Block, attribute string, w *Workload, script, null, none string) (refused bool) {
	switch {
	case w.Driver == DriverK6:
		b.AttrProblem(attribute, `the script of the driver "k6" decides `+script, driversOfLives)
	case w.Driver == DriverNull:
		b.AttrProblem(attribute, fmt.Sprintf("the driver %q %s", w.Driver, null), driversOfLives)
	case w.Arrivals.Kind == None:
		b.AttrProblem(attribute, "with arrivals = none() there is no task "+none, "remove it")
	default:
		return false
	}
	return true
}

// shareAttribute reads an attribute that is a share from 0 to 1. of completes the remedy, as in
// "the leases are extended".
func shareAttribute(b *hclfile.Block, name, of string) float64 {
	share, _ := b.Number(name, hclfile.NumberSpec{AllowZero: true, Example: "0.1"})
	if share > 1 {
		b.AttrProblem(name, fmt.Sprintf("%s is %v; it must be a share from 0 to 1", name, share), fmt.Sprintf("write %s = 0.1 if a tenth of %s", name, of))
		return 0
	}
	return share
}

// refusing returns a function that, if has is true, notes that an attribute of a workload cannot be
// combined with a feature. what is that feature, with an optional reason after a colon.
func refusing(b *hclfile.Block, attribute string) func(has bool, what, remedy string) {
	return func(has bool, what, remedy string) {
		if has {
			b.Problem("a workload with "+attribute+" cannot be combined with "+what, remedy)
		}
	}
}

// shareCalls returns the function share(VALUE, part) for an attribute of type T. name is the name
// of the first parameter, what names T in messages, value reads the first argument, and withPart
// adds the part. If part is 0, share returns the zero value of T, so that a sweep can include that
// case.
func shareCalls[T any](name, what, example string, value func(cty.Value) (T, error), withPart func(T, float64) T) *hcl.EvalContext {
	of := cty.Capsule(what, reflect.TypeFor[T]())
	return &hcl.EvalContext{Functions: map[string]function.Function{
		"share": function.New(&function.Spec{
			Params: []function.Parameter{{Name: name, Type: cty.DynamicPseudoType}, {Name: "part", Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(of),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				v, err := value(args[0])
				if err != nil {
					return cty.NilVal, err
				}
				if args[1].Type() == cty.Number && args[1].AsBigFloat().Sign() == 0 {
					return cty.CapsuleVal(of, new(T)), nil
				}
				part, err := partAboveZero(args[1], example)
				if err != nil {
					return cty.NilVal, err
				}
				shared := withPart(v, part)
				return cty.CapsuleVal(of, &shared), nil
			},
		}),
	}}
}

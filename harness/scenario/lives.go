package scenario

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// driversOfLives is the remedy where a driver can't lead tasks through other lives than enqueue,
// claim and completion.
const driversOfLives = `remove it, or write driver = "stream", "unary", "rest" or "embedded"`

// refuseLife refuses an attribute of tasks' lives for a workload that can't have it: script says
// what a script of k6 decides itself, null what the driver "null" does instead, and none what a
// load without arrivals lacks. It reports whether it refused the attribute.
func refuseLife(b *hclfile.Block, attribute string, w *Workload, script, null, none string) (refused bool) {
	switch {
	case w.Driver == DriverK6:
		b.AttrProblem(attribute, `a script of the driver "k6" decides itself which `+script, driversOfLives)
	case w.Driver == DriverNull:
		b.AttrProblem(attribute, fmt.Sprintf("the driver %q %s", w.Driver, null), driversOfLives)
	case w.Arrivals.Kind == None:
		b.AttrProblem(attribute, "with arrivals = none() there is no task "+none, "remove it")
	default:
		return false
	}
	return true
}

// shareAttribute reads an attribute that is a share from 0 to 1. of names the share with a verb, as
// in "the leases are extended".
func shareAttribute(b *hclfile.Block, name, of string) (share float64, ok bool) {
	share, ok = b.Number(name, hclfile.NumberSpec{AllowZero: true, Example: "0.1"})
	if ok && share > 1 {
		b.AttrProblem(name, fmt.Sprintf("%s is %v, which is no share from 0 to 1", name, share), fmt.Sprintf("write %s = 0.1 if a tenth of %s", name, of))
		return 0, false
	}
	return share, ok
}

// refusing returns a function that refuses what a workload with an attribute can't be had together
// with.
func refusing(b *hclfile.Block, attribute string) func(has bool, what, remedy string) {
	return func(has bool, what, remedy string) {
		if has {
			b.Problem("a workload with "+attribute+" and "+what+" can't be had together", remedy)
		}
	}
}

// shareCalls returns the function share(VALUE, part) of an attribute that is a T. name is the name
// of the first parameter, what is how messages name the T, value reads the first argument, and
// withPart adds the part. With a part of 0 the T is its zero value, which a sweep may have.
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

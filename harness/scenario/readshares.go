package scenario

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// readShare is the value of a call such as list(0.01).
type readShare struct {
	kind  string
	share float64
}

var readType = cty.Capsule("a kind of reads", reflect.TypeFor[readShare]())

var readCalls = func() *hcl.EvalContext {
	calls := map[string]function.Function{}
	for _, kind := range ReadKinds() {
		calls[kind] = readCall(kind)
	}
	return &hcl.EvalContext{Functions: calls}
}()

const readsUsage = "write reads = 0.2 for reads of single tasks, or reads = [get(0.2), list(0.01), stats(0.01), await(0.05)]"

func readCall(kind string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "share", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(readType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			example := fmt.Sprintf("write %s(0.01)", kind)
			if args[0].Type() != cty.Number {
				return cty.NilVal, &hclfile.ValueError{Message: fmt.Sprintf("the share of %s must be a number, not %s", kind, hclfile.TypeName(args[0])), Remedy: example}
			}
			share, _ := args[0].AsBigFloat().Float64()
			if share <= 0 || share >= 1 {
				return cty.NilVal, &hclfile.ValueError{Message: fmt.Sprintf("the share of %s is %v; it must be above 0 and below 1", kind, share), Remedy: example}
			}
			return cty.CapsuleVal(readType, &readShare{kind, share}), nil
		},
	})
}

// readShares reads reads = SHARE, reads = KIND(SHARE) or reads = [KIND(SHARE), ...]. It returns the
// zero value if reads is not set or a problem was noted.
func readShares(b *hclfile.Block) (reads Reads) {
	v, ok := b.Value("reads", readCalls)
	if !ok {
		return reads
	}
	problem := func(message, remedy string) Reads {
		b.AttrProblem("reads", message, remedy)
		return Reads{}
	}
	if !v.IsNull() && v.Type() == cty.Number {
		share, _ := v.AsBigFloat().Float64()
		switch {
		case share < 0:
			return problem(fmt.Sprintf("reads is %v; it must be from 0 to below 1", share), "write reads = 0.2")
		case share >= 1:
			return problem(fmt.Sprintf("reads is %v, which leaves no share for enqueues", share), "reads must be from 0 to below 1: write reads = 0.2")
		}
		return Reads{Get: share}
	}
	isList := !v.IsNull() && v.Type().IsTupleType()
	kinds := []cty.Value{v}
	if isList {
		kinds = v.AsValueSlice()
	}
	if len(kinds) == 0 {
		return problem("reads is an empty list", "name the kinds of reads, or remove it")
	}
	for i, one := range kinds {
		switch is := !one.IsNull() && one.Type() == readType; {
		case !is && isList:
			return problem(fmt.Sprintf("entry %d of reads must be a kind of reads, not %s", i+1, hclfile.TypeName(one)), readsUsage)
		case !is:
			return problem("reads must be a share, a kind of reads or a list of kinds, not "+hclfile.TypeName(one), readsUsage)
		}
		of := one.EncapsulatedValue().(*readShare)
		into := reads.share(of.kind)
		if *into > 0 {
			return problem(fmt.Sprintf("reads has %s twice", of.kind), "keep one of the two")
		}
		*into = of.share
	}
	if all := reads.All(); all >= 1 {
		return problem(fmt.Sprintf("the sum of the shares of reads is %.4g, which leaves no share for enqueues", all), "lower them: their sum must be below 1")
	}
	return reads
}

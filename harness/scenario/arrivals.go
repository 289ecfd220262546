package scenario

import (
	"reflect"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var arrivalsType = cty.Capsule("a pattern of arrivals", reflect.TypeFor[Arrivals]())

var arrivalsFunctions = hclfile.Functions{
	Built: map[string]function.Function{
		"closed": function.New(&function.Spec{
			Type: function.StaticReturnType(arrivalsType),
			Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
				return cty.CapsuleVal(arrivalsType, &Arrivals{Kind: "closed"}), nil
			},
		}),
	},
	NotBuilt: []string{"rate", "ramp", "burst"},
}

// readArrivals reads arrivals = closed().
func readArrivals(b *hclfile.Block) Arrivals {
	v, ok := b.Call("arrivals", arrivalsFunctions, "closed()")
	if !ok {
		return Arrivals{Kind: "closed"}
	}
	return *v.EncapsulatedValue().(*Arrivals)
}

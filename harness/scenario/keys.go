package scenario

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Keys defines which of its queues a producer uses for each call.
type Keys struct {
	Kind string `json:"kind"` // "round_robin", "uniform" or "zipf"
	// Skew, of zipf, gives queue k, counted from 0, a share in proportion to 1 / (k+1)^Skew. It is
	// above 0.
	Skew float64 `json:"skew,omitzero"`
}

// IsZero reports whether calls use the queues in turn. It implements the JSON option omitzero.
func (k Keys) IsZero() bool { return k.Kind == "" || k.Kind == KeysRoundRobin }

// The kinds of keys.
const (
	KeysRoundRobin = "round_robin" // each queue in turn
	KeysUniform    = "uniform"     // any queue with equal probability
	KeysZipf       = "zipf"        // some queues far more often than others
)

// skewMax is the largest skew: at 10 the first queue gets all but a thousandth of the calls.
const skewMax = 10

var keysType = cty.Capsule("a choice of queues", reflect.TypeFor[Keys]())

var keysCalls = &hcl.EvalContext{Functions: map[string]function.Function{
	KeysRoundRobin: constant(keysType, Keys{Kind: KeysRoundRobin}),
	"turn":         renamed(keysType, "turn", KeysRoundRobin),
	KeysUniform:    constant(keysType, Keys{Kind: KeysUniform}),
	KeysZipf: function.New(&function.Spec{
		Params: []function.Parameter{{Name: "skew", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(keysType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			const remedy = "the k-th queue gets a share in proportion to 1 / k^skew, as in zipf(1.2)"
			if args[0].Type() != cty.Number {
				return cty.NilVal, &hclfile.ValueError{Message: "a skew must be a number, not " + hclfile.TypeName(args[0]), Remedy: remedy}
			}
			skew, _ := args[0].AsBigFloat().Float64()
			if skew <= 0 || skew > skewMax {
				return cty.NilVal, &hclfile.ValueError{Message: fmt.Sprintf("a skew of %v is not above 0 and at most %d", skew, skewMax), Remedy: remedy}
			}
			return cty.CapsuleVal(keysType, &Keys{Kind: KeysZipf, Skew: skew}), nil
		},
	}),
}}

// String formats the keys in the syntax of scenarios.
func (k Keys) String() string {
	if k.Kind == KeysZipf {
		return fmt.Sprintf("zipf(%v)", k.Skew)
	}
	return k.Kind + "()"
}

func checkKeys(b *hclfile.Block, w *Workload) {
	if !w.Keys.IsZero() && w.Tenants == 1 && w.QueuesOfTenant() == 1 {
		b.AttrProblem("keys", "keys is valid only with several queues", "raise queues, or remove keys")
	}
}

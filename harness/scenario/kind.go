package scenario

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Single is the kind of a topology of one server process with one shard.
const Single = "single"

// Raft is the kind of a topology of several nodes that hold the same shards.
const Raft = "raft"

// Embedded is the kind of a topology whose server runs in the generator's process. NoTopology is
// the kind without any server, for the driver "null".
const (
	Embedded   = "embedded"
	NoTopology = "none"
)

// NodesMax is the largest number of nodes of a topology.
const NodesMax = 7

const nodesDefault = 3

// kindAttribute is the name of the topology's kind in the path of a sweep. In the topology block
// the kind is the label, not an attribute.
const kindAttribute = "kind"

var topologyKinds = []string{Single, "sharded", Raft, Remote, Embedded, NoTopology}

// kindOf is the value of single(), sharded() and raft(3) in a sweep.
type kindOf struct {
	kind  string
	nodes int
}

var kindType = cty.Capsule("a kind of topology", reflect.TypeFor[kindOf]())

var kindCalls = &hcl.EvalContext{
	Functions: map[string]function.Function{
		"single":   constant(kindType, kindOf{kind: Single}),
		"sharded":  constant(kindType, kindOf{kind: "sharded"}),
		Embedded:   constant(kindType, kindOf{kind: Embedded}),
		NoTopology: constant(kindType, kindOf{kind: NoTopology}),
		Raft: function.New(&function.Spec{
			Params: []function.Parameter{{Name: "nodes", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
			Type:   function.StaticReturnType(kindType),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				nodes, whole := 0, false
				if v := args[0]; !v.IsNull() && v.Type() == cty.Number {
					nodes, whole = hclfile.Whole(v)
				}
				if !whole || nodes < 1 || nodes > NodesMax {
					return cty.NilVal, &hclfile.ValueError{Message: fmt.Sprintf("raft(nodes) takes a whole number from 1 to %d", NodesMax)}
				}
				return cty.CapsuleVal(kindType, &kindOf{Raft, nodes}), nil
			},
		}),
	},
}

// readKind reads the kind of the topology from the label, or from the value of a sweep of
// topology.kind, which replaces the label. After a problem the kind is "".
func readKind(b *hclfile.Block) Topology {
	kind := b.Kind(topologyKinds, nil)
	if !b.Has(kindAttribute) {
		return Topology{Kind: kind}
	}
	v, ok := b.Call(kindAttribute, kindCalls, "single() or raft(3)")
	if !ok {
		return Topology{}
	}
	of := v.EncapsulatedValue().(*kindOf)
	return Topology{Kind: of.kind, Nodes: of.nodes}
}

// constant makes a function without parameters that returns the value in the capsule type t.
func constant[T any](t cty.Type, value T) function.Function {
	return function.New(&function.Spec{
		Type: function.StaticReturnType(t),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.CapsuleVal(t, &value), nil },
	})
}

// renamed makes a function for a former name, which fails with the current name as the remedy.
func renamed(t cty.Type, former, now string) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Type: cty.DynamicPseudoType, AllowNull: true},
		Type:     function.StaticReturnType(t),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			return cty.NilVal, &hclfile.ValueError{Message: fmt.Sprintf("unknown function %q", former), Remedy: fmt.Sprintf("the name is now %q", now)}
		},
	})
}

package scenario

import (
	"fmt"
	"reflect"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Raft is the kind of a topology of several nodes that hold the same shards.
const Raft = "raft"

// Embedded is the kind of a topology whose server is a part of the generator's process, and NoTopology that of one without
// any server, for the driver that needs none.
const (
	Embedded   = "embedded"
	NoTopology = "none"
)

// NodesMax is how many nodes a topology "raft" has at most.
const NodesMax = 7

const nodesDefault = 3

// kindAttribute is what a sweep calls the kind of the topology, which in its block is the label and no attribute.
const kindAttribute = "kind"

var (
	kindsBuilt    = []string{"single", "sharded", Raft, Embedded, NoTopology}
	kindsNotBuilt = []string{"remote"}
)

// kindOf is a kind of a topology as a value: what single(), sharded() and raft(3) are.
type kindOf struct {
	kind  string
	nodes int
}

var kindType = cty.Capsule("a kind of topology", reflect.TypeFor[kindOf]())

var kindFunctions = hclfile.Functions{
	Built: map[string]function.Function{
		"single":   function.New(constantKind("single")),
		"sharded":  function.New(constantKind("sharded")),
		Embedded:   function.New(constantKind(Embedded)),
		NoTopology: function.New(constantKind(NoTopology)),
		Raft: function.New(&function.Spec{
			Params: []function.Parameter{{Name: "nodes", Type: cty.DynamicPseudoType, AllowNull: true, AllowDynamicType: true}},
			Type:   function.StaticReturnType(kindType),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				nodes, whole := 0, false
				if v := args[0]; !v.IsNull() && v.Type() == cty.Number && v.AsBigFloat().IsInt() {
					n, _ := v.AsBigFloat().Int64()
					nodes, whole = int(n), n >= 1 && n <= NodesMax
				}
				if !whole {
					return cty.NilVal, &hclfile.Fault{Message: fmt.Sprintf("raft(nodes) takes a whole number from 1 to %d", NodesMax)}
				}
				return cty.CapsuleVal(kindType, &kindOf{Raft, nodes}), nil
			},
		}),
	},
	NotBuilt: kindsNotBuilt,
}

// constantKind makes a function without parameters.
func constantKind(kind string) *function.Spec {
	return &function.Spec{
		Type: function.StaticReturnType(kindType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
			return cty.CapsuleVal(kindType, &kindOf{kind: kind}), nil
		},
	}
}

// readKind reads which kind of topology it is: the label, or what a sweep of topology.kind puts in its place. After a
// problem the kind is not known.
func readKind(b *hclfile.Block) Topology {
	kind := b.Kind(kindsBuilt, kindsNotBuilt)
	if !b.Has(kindAttribute) {
		return Topology{Kind: kind}
	}
	v, ok := b.Call(kindAttribute, kindFunctions, "single() or raft(3)")
	if !ok {
		return Topology{}
	}
	of := v.EncapsulatedValue().(*kindOf)
	return Topology{Kind: of.kind, Nodes: of.nodes}
}

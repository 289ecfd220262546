package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The kinds of targets.
const (
	TargetLeader   = "leader"   // the node that leads shard 0 when the fault begins
	TargetFollower = "follower" // the first node, in order of names, that does not lead shard 0
	TargetNode     = "node"     // the node of that name
	TargetEach     = "each"     // with times: node 1, then node 2 and so on, cyclically
	TargetAll      = "all"      // every node
)

// Target defines the nodes that a fault affects.
type Target struct {
	Kind string
	Node string // of TargetNode; else ""
}

// String formats the target in the syntax of scenarios.
func (t Target) String() string {
	if t.Kind == TargetNode {
		return fmt.Sprintf("node(%q)", t.Node)
	}
	return t.Kind + "()"
}

// MarshalText writes the target as String does.
func (t Target) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (t *Target) UnmarshalText(text []byte) error {
	kind, rest, called := strings.Cut(string(text), "(")
	arg, closed := strings.CutSuffix(rest, ")")
	if !called || !closed {
		return fmt.Errorf("%q is not a target such as leader() or node(\"n1\")", text)
	}
	t.Kind, t.Node = kind, strings.Trim(arg, `"`)
	return nil
}

var targetType = cty.Capsule("a target", reflect.TypeFor[Target]())

var targetCalls = &hcl.EvalContext{
	Functions: map[string]function.Function{
		TargetLeader:   constant(targetType, Target{Kind: TargetLeader}),
		TargetFollower: constant(targetType, Target{Kind: TargetFollower}),
		TargetEach:     constant(targetType, Target{Kind: TargetEach}),
		TargetAll:      constant(targetType, Target{Kind: TargetAll}),
		TargetNode: function.New(&function.Spec{
			Params: []function.Parameter{{Name: "node", Type: cty.DynamicPseudoType}},
			Type:   function.StaticReturnType(targetType),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				if args[0].IsNull() || args[0].Type() != cty.String {
					return cty.NilVal, &hclfile.ValueError{Message: "a node's name must be a string, not " + hclfile.TypeName(args[0]), Remedy: `write node("n1")`}
				}
				return cty.CapsuleVal(targetType, &Target{Kind: TargetNode, Node: args[0].AsString()}), nil
			},
		}),
	},
}

// readTarget reads target = leader(), follower(), node("n1"), each() or all(). It returns false
// after a problem.
func readTarget(b *hclfile.Block, t Topology) (Target, bool) {
	const example = "leader()"
	if !b.Has("target") {
		b.Problem(b.String()+" has no target", "add target = "+example)
		return Target{}, false
	}
	v, ok := b.Call("target", targetCalls, example)
	if !ok {
		return Target{}, false
	}
	found := *v.EncapsulatedValue().(*Target)
	if !t.Clustered() {
		return found, true // checkFaultsFit reports it
	}
	switch {
	case found.Kind == TargetNode && !slices.Contains(t.NodeNames(), found.Node):
		b.AttrProblem("target", fmt.Sprintf("there is no node %.40q; the nodes are %s", found.Node, nodesInWords(t)), "")
		return found, false
	case found.Kind == TargetFollower && t.Nodes < 2:
		b.AttrProblem("target", "a cluster of one node has no follower", "raise topology.nodes")
		return found, false
	}
	return found, true
}

// NodeName returns the name of node i of a cluster, counted from 0.
func NodeName(i int) string { return fmt.Sprintf("n%d", i+1) }

func nodesInWords(t Topology) string {
	if t.Kind == Remote {
		return hclfile.List(t.NodeNames())
	}
	return "n1 to " + NodeName(t.Nodes-1)
}

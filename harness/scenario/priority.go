package scenario

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// PriorityMax is the highest priority of a task. The lowest is 0, which is the default.
const PriorityMax = 9

// Priority is the distribution of the priorities of tasks. The zero value gives all tasks the
// priority 0.
type Priority struct {
	Kind string `json:"kind"`         // PriorityUniform or PriorityShare
	Min  int    `json:"min,omitzero"` // of PriorityUniform: the lowest priority
	Max  int    `json:"max"`          // the highest priority
	// Part, of PriorityShare, is the share of tasks with the priority Max. All others have 0.
	Part float64 `json:"part,omitzero"`
}

// The kinds of priorities.
const (
	PriorityUniform = "uniform" // each priority from Min to Max with equal probability
	PriorityShare   = "share"   // one priority for a share of the tasks, and 0 for the others
)

// IsZero reports whether all tasks have the priority 0. It implements the JSON option omitzero.
func (p Priority) IsZero() bool { return p == Priority{} }

// String formats the priorities in the syntax of scenarios.
func (p Priority) String() string {
	if p.Kind == PriorityShare {
		return fmt.Sprintf("share(%d, %v)", p.Max, p.Part)
	}
	return fmt.Sprintf("uniform(%d, %d)", p.Min, p.Max)
}

var priorityType = cty.Capsule("a distribution of priorities", reflect.TypeFor[Priority]())

var priorityCalls = &hcl.EvalContext{Functions: map[string]function.Function{
	PriorityUniform: priorityCall(priorityUniform, "min", "max"),
	PriorityShare:   priorityCall(priorityShare, "priority", "part"),
}}

func priorityCall(read func(first, second cty.Value) (Priority, error), first, second string) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: first, Type: cty.DynamicPseudoType}, {Name: second, Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(priorityType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p, err := read(args[0], args[1])
			if err != nil {
				return cty.NilVal, err
			}
			return cty.CapsuleVal(priorityType, &p), nil
		},
	})
}

func priorityUniform(first, second cty.Value) (p Priority, err error) {
	p.Kind = PriorityUniform
	if p.Min, err = onePriority(first); err != nil {
		return p, err
	}
	if p.Max, err = onePriority(second); err != nil {
		return p, err
	}
	if p.Max < p.Min {
		return p, &hclfile.ValueError{
			Message: fmt.Sprintf("uniform has a highest priority of %d below its lowest of %d", p.Max, p.Min),
			Remedy:  fmt.Sprintf("write uniform(%d, %d)", p.Max, p.Min),
		}
	}
	return p, nil
}

func priorityShare(first, second cty.Value) (p Priority, err error) {
	p.Kind = PriorityShare
	if p.Max, err = onePriority(first); err != nil {
		return p, err
	}
	p.Part, err = partAboveZero(second, "share(9, 0.1)")
	return p, err
}

// partAboveZero reads the share of tasks in a call such as share(9, 0.1), above 0 and at most 1.
// example is such a call with a part of 0.1, for messages.
func partAboveZero(v cty.Value, example string) (part float64, err error) {
	remedy := "the part is above 0 and at most 1, as in " + example + ": a tenth of the tasks"
	if v.Type() != cty.Number {
		return 0, &hclfile.ValueError{Message: "a part must be a number, not " + hclfile.TypeName(v), Remedy: remedy}
	}
	if part, _ = v.AsBigFloat().Float64(); part <= 0 || part > 1 {
		return 0, &hclfile.ValueError{Message: fmt.Sprintf("a part of %v is not above 0 and at most 1", part), Remedy: remedy}
	}
	return part, nil
}

func onePriority(v cty.Value) (int, error) {
	remedy := fmt.Sprintf("a priority is a whole number from 0 to %d; tasks of a higher priority are delivered first", PriorityMax)
	if v.Type() != cty.Number {
		return 0, &hclfile.ValueError{Message: "a priority must be a number, not " + hclfile.TypeName(v), Remedy: remedy}
	}
	n, whole := hclfile.Whole(v)
	if !whole || n < 0 || n > PriorityMax {
		return 0, &hclfile.ValueError{Message: fmt.Sprintf("a priority of %s is not a whole number from 0 to %d", v.AsBigFloat().Text('g', 6), PriorityMax), Remedy: remedy}
	}
	return n, nil
}

func checkPriorities(b *hclfile.Block, w *Workload) {
	if w.Priority.IsZero() {
		return
	}
	refuseLife(b, "priority", w, "the priorities of its tasks", "does not support priorities", "to give a priority")
	if w.Priority.Max == 0 {
		w.Priority = Priority{}
	}
}

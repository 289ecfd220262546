package scenario

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Unique makes the tasks of a workload share a bounded set of unique keys. The zero value means that
// tasks have no unique keys.
type Unique struct {
	Scope string `json:"scope"` // untilFinished
	Keys  int    `json:"keys"`  // of each queue
}

// IsZero reports whether tasks have no unique keys. It implements the JSON option omitzero.
func (u Unique) IsZero() bool { return u == Unique{} }

// String formats the keys in the syntax of scenarios.
func (u Unique) String() string { return fmt.Sprintf("%s(%d)", u.Scope, u.Keys) }

// untilFinished is the only scope: a task holds its key until it is finished. Clients cannot observe
// when the server frees a key of another scope.
const untilFinished = "until_finished"

const (
	uniqueKeysMax = 1_000_000
	uniqueExample = untilFinished + "(1000)"
)

var uniqueType = cty.Capsule("a set of unique keys", reflect.TypeFor[Unique]())

var uniqueCalls = &hcl.EvalContext{Functions: map[string]function.Function{
	untilFinished: function.New(&function.Spec{
		Params: []function.Parameter{{Name: "keys", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(uniqueType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			n, err := wholeWithin(args[0], "a number of keys", 0, uniqueKeysMax, "tasks of a queue share that many keys, as in "+uniqueExample+"; 0 gives them none")
			if err != nil || n == 0 {
				return cty.CapsuleVal(uniqueType, &Unique{}), err
			}
			return cty.CapsuleVal(uniqueType, &Unique{untilFinished, n}), nil
		},
	}),
}}

// wholeWithin reads a whole number within bounds. what names it in messages.
func wholeWithin(v cty.Value, what string, least, most int, remedy string) (int, error) {
	if v.Type() != cty.Number {
		return 0, &hclfile.ValueError{Message: what + " must be a whole number, not " + hclfile.TypeName(v), Remedy: remedy}
	}
	if n, exact := v.AsBigFloat().Int64(); exact == 0 && n >= int64(least) && n <= int64(most) {
		return int(n), nil
	}
	return 0, &hclfile.ValueError{Message: fmt.Sprintf("%s of %s is not a whole number from %d to %d", what, v.AsBigFloat().Text('g', 10), least, most), Remedy: remedy}
}

// HasUniqueKeys reports whether the tasks of the workload have unique keys.
func (w Workload) HasUniqueKeys() bool { return !w.Unique.IsZero() }

func checkUniqueOf(b *hclfile.Block, w *Workload) {
	switch {
	case !w.HasUniqueKeys():
	case refuseLife(b, "unique", w, "the keys of its tasks", "does not support keys", "to give a key"):
	case w.Producers == 0 || w.Workers == 0:
		b.AttrProblem("unique", "unique needs producers and workers: otherwise no task of the window takes a key and frees it", "remove it, or raise producers and workers")
	case w.Arrivals.Kind != Closed && w.Arrivals.Kind != "":
		b.AttrProblem("unique", "unique is valid only with arrivals = closed(): the number of tasks whose key is free is no rate", "write arrivals = closed()")
	case w.RepeatsKeys():
		b.AttrProblem("unique", "unique cannot be combined with key, which gives tasks other keys", "remove one of the two")
	case w.Idempotent:
		b.AttrProblem("unique", "unique cannot be combined with idempotent, which gives each task another key", "remove one of the two")
	}
}

func checkUnique(b *hclfile.Block, s *Scenario) {
	if !Any(s.Workloads, Workload.HasUniqueKeys) {
		return
	}
	refuse := refusing(b, "unique")
	refuse(s.Soak != nil, "a soak: its account of tasks does not record keys across a restart", "remove one of the two")
	refuse(s.Backlog != nil, "a backlog: a queue has at most one unfinished task of each key", "remove one of the two")
}

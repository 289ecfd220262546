package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

var invariantBlock = hclfile.Inner{
	Names: hclfile.Names{NotBuilt: []string{"on"}},
	Label: "kind", Example: `invariant "conserved" {}`,
}

// readInvariants reads each invariant "KIND" {}.
func readInvariants(s *hclfile.Block) []Invariant {
	var invariants []Invariant
	seen := map[string]string{}
	for _, b := range s.Blocks("invariant", invariantBlock) {
		kind := b.Kind([]string{"conserved"}, []string{"isolated", "ordered"})
		if kind == "" {
			continue
		}
		if first, twice := seen[kind]; twice {
			b.LabelProblem(0, fmt.Sprintf("invariant %q is given twice", kind), "the first is at "+first+"; keep one of the two")
			continue
		}
		seen[kind] = b.Where()
		invariants = append(invariants, Invariant{Kind: kind})
	}
	return invariants
}

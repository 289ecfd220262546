package hclfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// namedEntry replaces the text of the diagnostic for an unknown name in { NAME = value, ... }[name]
// by one with the name and the known names. It returns other diagnostics unchanged.
func namedEntry(d *hcl.Diagnostic) *hcl.Diagnostic {
	index, is := d.Expression.(*hclsyntax.IndexExpr)
	if !is {
		return d
	}
	entries, entriesDiags := index.Collection.Value(d.EvalContext)
	name, nameDiags := index.Key.Value(d.EvalContext)
	if entriesDiags.HasErrors() || nameDiags.HasErrors() || !entries.Type().IsObjectType() || name.IsNull() || name.Type() != cty.String {
		return d
	}
	at := index.Key.Range()
	worded := *d
	worded.Summary = fmt.Sprintf("there is no entry %q", clip(name.AsString()))
	worded.Detail = Suggest(name.AsString(), slices.Sorted(maps.Keys(entries.Type().AttributeTypes())))
	worded.Subject = &at
	return &worded
}

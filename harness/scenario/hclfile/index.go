package hclfile

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// namedEntry returns the diagnostic of a name that is not one of those in { NAME = value, ...
// }[name] in words that say the name and the known ones, and any other diagnostic as it is.
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

package hclfile

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ErrNotRegular is the error of reading a folder, a device or a socket as a file.
var ErrNotRegular = errors.New("is not a regular file")

// A ValueError is what a function of the language returns for an argument that it refuses.
type ValueError struct {
	Message string // names the field and the value
	Remedy  string // what to write instead; may be empty
}

func (e *ValueError) Error() string { return e.Message }

// unwrapped returns a diagnostic of a function's ValueError in the words of that error, and any
// other as it is.
func unwrapped(d *hcl.Diagnostic) *hcl.Diagnostic {
	var refused *ValueError
	call, is := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !is || !errors.As(call.FunctionCallError(), &refused) {
		return d
	}
	worded := *d
	worded.Summary, worded.Detail = refused.Message, refused.Remedy
	return &worded
}

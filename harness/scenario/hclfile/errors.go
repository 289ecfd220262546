package hclfile

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ErrNotRegular is the error of a read of a folder, a device or a socket.
var ErrNotRegular = errors.New("is not a regular file")

// ValueError is the error of a function of the language that refuses an argument.
type ValueError struct {
	Message string // names the field and the value
	Remedy  string // what to write instead; may be empty
}

func (e *ValueError) Error() string { return e.Message }

// unwrapped replaces the text of a diagnostic that wraps a ValueError by that of the ValueError. It
// returns other diagnostics unchanged.
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

package hclfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
)

// ChoiceSpec says what an attribute that is one of several names may be.
type ChoiceSpec struct {
	Built    []string
	NotBuilt []string // refused with a message that says so
	Default  string
	Required bool
}

// Choice returns one of several names.
func (b *Block) Choice(name string, spec ChoiceSpec) string {
	v, ok := b.plain(name)
	if !ok {
		b.absent(name, spec.Required, alternatives(spec.Built))
		return spec.Default
	}
	if v.IsNull() || v.Type() != cty.String {
		b.wrongType(name, "a string", v, "write "+alternatives(spec.Built))
		return spec.Default
	}
	if message, remedy := refuse(name, v.AsString(), spec.Built, spec.NotBuilt); message != "" {
		b.AttrProblem(name, message, remedy)
		return spec.Default
	}
	return v.AsString()
}

// Kind returns the block's label where it is one of several names, and "" after noting that it is not.
func (b *Block) Kind(built, notBuilt []string) string {
	kind := b.Label(0)
	if message, remedy := refuse(b.kind, kind, built, notBuilt); message != "" {
		b.LabelProblem(0, message, remedy)
		return ""
	}
	return kind
}

// refuse says what is wrong with a name that should be one of those built, or "".
func refuse(what, name string, built, notBuilt []string) (message, remedy string) {
	switch {
	case slices.Contains(built, name):
		return "", ""
	case slices.Contains(notBuilt, name):
		return fmt.Sprintf("%s %q is not built yet", what, name), "built are: " + List(built)
	}
	message = fmt.Sprintf("unknown %s %q", what, clip(name))
	if meant := Nearest(name, slices.Concat(built, notBuilt)); meant != "" {
		return message, fmt.Sprintf("did you mean %q?", meant)
	}
	if len(notBuilt) == 0 {
		return message, "write " + alternatives(built)
	}
	return message, "built are: " + List(built)
}

func alternatives(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return strings.Join(quoted, " or ")
}

// TextSpec says what an attribute that is free text may be.
type TextSpec struct {
	MaxBytes int
	Default  string
	Required bool
	Example  string
}

// Text returns a text of one line that is not blank.
func (b *Block) Text(name string, spec TextSpec) string {
	v, ok := b.plain(name)
	if !ok {
		b.absent(name, spec.Required, strconv.Quote(spec.Example))
		return spec.Default
	}
	if v.IsNull() || v.Type() != cty.String {
		b.wrongType(name, "a string", v, fmt.Sprintf("write %s = %q", name, spec.Example))
		return spec.Default
	}
	text := v.AsString()
	switch {
	case strings.TrimSpace(text) == "":
		b.AttrProblem(name, name+" is empty", fmt.Sprintf("write %s = %q", name, spec.Example))
	case len(text) > spec.MaxBytes:
		b.AttrProblem(name, fmt.Sprintf("%s is longer than %d bytes", name, spec.MaxBytes), "shorten it")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		b.AttrProblem(name, name+" is not one line of printable text", "remove what is not")
	default:
		return text
	}
	return spec.Default
}

// NamesSpec says what an attribute that is a list of names may be.
type NamesSpec struct {
	Max     int // how many
	Example string
}

// Names returns a list of different names, each as IsName wants it.
func (b *Block) Names(name string, spec NamesSpec) []string {
	v, ok := b.plain(name)
	if !ok {
		return nil
	}
	remedy := fmt.Sprintf("write %s = %s", name, spec.Example)
	if v.IsNull() || !v.Type().IsTupleType() {
		b.wrongType(name, "a list of strings", v, remedy)
		return nil
	}
	if v.LengthInt() > spec.Max {
		b.AttrProblem(name, fmt.Sprintf("%s has %d entries; it may have %d", name, v.LengthInt(), spec.Max), "")
		return nil
	}
	var list []string
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || e.Type() != cty.String {
			b.wrongType(name, "a list of strings", e, remedy)
			return nil
		}
		s := e.AsString()
		switch {
		case !IsName(s):
			b.AttrProblem(name, fmt.Sprintf("%s holds %q, which is not a name", name, clip(s)), NameRule)
			return nil
		case slices.Contains(list, s):
			b.AttrProblem(name, fmt.Sprintf("%s holds %q twice", name, s), "keep one of the two")
			return nil
		}
		list = append(list, s)
	}
	return list
}

// NameRule says what IsName accepts.
const NameRule = "a name is 1 to 64 of the characters a-z, 0-9 and -"

// IsName reports whether s is a name: 1 to 64 of the characters a-z, 0-9 and -.
func IsName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

package hclfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
)

// ChoiceSpec constrains an attribute that is one of several names.
type ChoiceSpec struct {
	OneOf    []string
	Default  string
	Required bool
}

// Choice returns the value of an attribute that is one of several names.
func (b *Block) Choice(name string, spec ChoiceSpec) string {
	alternatives := alternatives(spec.OneOf)
	v, ok := b.typed(name, want{
		of: cty.String, what: "a string", remedy: "write " + alternatives, required: spec.Required, example: alternatives,
	})
	if !ok {
		return spec.Default
	}
	if message, remedy := refuse(name, v.AsString(), spec.OneOf, nil); message != "" {
		b.AttrProblem(name, message, remedy)
		return spec.Default
	}
	return v.AsString()
}

// Kind returns the block's label if it is one of kinds, and "" after it noted that it is not.
// renamed maps former names to current ones.
func (b *Block) Kind(kinds []string, renamed map[string]string) string {
	kind := b.Label()
	if message, remedy := refuse(b.kind, kind, kinds, renamed); message != "" {
		b.LabelProblem(message, remedy)
		return ""
	}
	return kind
}

// refuse returns a message and a remedy if name is not in known, and "" otherwise.
func refuse(what, name string, known []string, renamed map[string]string) (message, remedy string) {
	if slices.Contains(known, name) {
		return "", ""
	}
	message = fmt.Sprintf("unknown %s %q", what, clip(name))
	if now := renamed[name]; now != "" {
		return message, fmt.Sprintf("the name is now %q", now)
	}
	if meant := Nearest(name, known); meant != "" {
		return message, fmt.Sprintf("did you mean %q?", meant)
	}
	return message, "write " + alternatives(known)
}

func alternatives(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return strings.Join(quoted, " or ")
}

// TextSpec constrains an attribute that is free text.
type TextSpec struct {
	MaxBytes int
	Default  string
	Required bool
	Example  string
}

// Text returns the value of an attribute that is a non-blank text of one line.
func (b *Block) Text(name string, spec TextSpec) string {
	v, ok := b.typed(name, want{of: cty.String, what: "a string", required: spec.Required, example: strconv.Quote(spec.Example)})
	if !ok {
		return spec.Default
	}
	text := v.AsString()
	switch {
	case strings.TrimSpace(text) == "":
		b.AttrProblem(name, name+" is empty", fmt.Sprintf("write %s = %q", name, spec.Example))
	case len(text) > spec.MaxBytes:
		b.AttrProblem(name, fmt.Sprintf("%s is longer than %d bytes", name, spec.MaxBytes), "shorten it")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		b.AttrProblem(name, name+" is not one line of printable text", "remove line breaks and control characters")
	default:
		return text
	}
	return spec.Default
}

// FileSpec constrains an attribute that is the path of another file.
type FileSpec struct {
	BytesMax int // of the file's content
	Required bool
	Example  string
}

// pathBytesMax bounds a path in the file.
const pathBytesMax = 500

// OtherFile returns the path and the content of the regular file that an attribute names. The
// attribute is a path relative to the file that contains it. The returned path is relative to the
// working directory, or absolute if the path of that file is absolute. The path is "" if a problem
// was noted or the attribute is absent.
func (b *Block) OtherFile(name string, spec FileSpec) (path string, content []byte) {
	text := b.Text(name, TextSpec{MaxBytes: pathBytesMax, Required: spec.Required, Example: spec.Example})
	if text == "" {
		return "", nil
	}
	const remedy = "a path is relative to the file that contains it"
	if filepath.IsAbs(text) {
		b.AttrProblem(name, fmt.Sprintf("%s is %q, which is not a relative path", name, clip(text)), remedy)
		return "", nil
	}
	path = filepath.Join(filepath.Dir(b.attrs[name].Range().Filename), filepath.FromSlash(text))
	content, err := b.r.read(path, spec.BytesMax)
	switch {
	case err != nil:
		b.AttrProblem(name, fmt.Sprintf("%s is %q, and %s %v", name, clip(text), clip(path), err), remedy)
	case len(content) > spec.BytesMax:
		b.AttrProblem(name, fmt.Sprintf("%s is %q, which is larger than %d KiB", name, clip(text), spec.BytesMax>>10), "name a smaller file")
	default:
		return path, content
	}
	return "", nil
}

// Path returns the path that an attribute contains, or "" if it is absent. A path that is not
// absolute is relative to the file that contains it. The named file need not exist.
func (b *Block) Path(name string, spec TextSpec) string {
	text := b.Text(name, spec)
	if text == "" || filepath.IsAbs(text) {
		return text
	}
	return filepath.Join(filepath.Dir(b.attrs[name].Range().Filename), filepath.FromSlash(text))
}

// NameRule describes the names that IsName accepts, for messages.
const NameRule = "a name has 1 to 64 of the characters a-z, 0-9 and -"

// IsName reports whether s is a name: 1 to 64 of the characters a-z, 0-9 and -.
func IsName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
}

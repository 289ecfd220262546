package hclfile

import (
	"maps"
	"slices"
	"strings"
)

// The methods in this file read blocks with Names.Any, whose names only the caller can check.

// Attributes returns the names of the attributes that are set, sorted.
func (b *Block) Attributes() []string { return slices.Sorted(maps.Keys(b.attrs)) }

// Kinds returns the types of the inner blocks, each once, in the order of the file.
func (b *Block) Kinds() (kinds []string) {
	for _, in := range b.blocks {
		if !slices.Contains(kinds, in.kind) {
			kinds = append(kinds, in.kind)
		}
	}
	return kinds
}

// PlainText returns the value of an attribute that is a string, a number, or true or false, as
// text. ok is false after a problem was noted. shown is the attribute's name in messages.
func (b *Block) PlainText(name, shown string) (text string, ok bool) {
	v, ok := b.eval(b.attrs[name], nil)
	if !ok {
		return "", false
	}
	if v.IsNull() || !v.Type().IsPrimitiveType() {
		b.AttrProblem(name, shown+" must be a string, a number, or true or false, not "+TypeName(v), "")
		return "", false
	}
	text = formatValue(v)
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		b.AttrProblem(name, shown+" contains a control character", "")
		return "", false
	}
	return text, true
}

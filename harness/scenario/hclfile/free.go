package hclfile

import (
	"maps"
	"slices"
	"strings"
)

// A block with Names.Any is read by the names that it has, which the caller knows or refuses.

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
// text. ok is false after a problem was noted. The problem calls the attribute by shown.
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
		b.AttrProblem(name, shown+" has a control character in it", "")
		return "", false
	}
	return text, true
}

package hclfile

import "github.com/zclconf/go-cty/cty"

// Bool returns whether an attribute is true; one that is absent is false.
func (b *Block) Bool(name string) bool {
	v, ok := b.plain(name)
	if !ok {
		return false
	}
	if v.IsNull() || v.Type() != cty.Bool {
		b.wrongType(name, "true or false", v, "write "+name+" = true, without quotes")
		return false
	}
	return v.True()
}

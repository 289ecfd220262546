package hclfile

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// Setting is the new value of an attribute. A Value of "" removes the attribute.
type Setting struct{ Name, Value string }

// Edit returns src with new values of attributes in the block that find returns. It inserts
// attributes that the block does not have before the attribute called before, which must exist. It
// preserves everything else, including comments and lines with several attributes. If src was
// formatted like the output of `terraform fmt`, the result is formatted again. name is the file's
// name in errors.
func Edit(src []byte, name string, find func(*hclsyntax.Body) *hclsyntax.Block, before string, settings []Setting) ([]byte, error) {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos)
	// separate preserves the offsets of src.
	file, diags := hclsyntax.ParseConfig(separate(src, tokens), name, hcl.InitialPos)
	switch {
	case diags.HasErrors():
		return nil, fmt.Errorf("read %s: %w", name, diags)
	case bytes.Contains(src, []byte(removed)):
		return nil, fmt.Errorf("%s contains a character with the code 0 and can't be edited: remove it", name)
	}
	block := find(file.Body.(*hclsyntax.Body))
	if block == nil {
		return nil, fmt.Errorf("%s no longer has the block to edit", name)
	}
	at := block.Body.Attributes[before]
	if at == nil {
		return nil, fmt.Errorf("%s line %d: the block has no attribute %q", name, block.TypeRange.Start.Line, before)
	}
	e := editing{src: src}
	for _, s := range settings {
		switch existing := block.Body.Attributes[s.Name]; {
		case existing != nil && s.Value != "":
			r := existing.Expr.Range()
			e.replace(r.Start.Byte, r.End.Byte, s.Value)
		case existing != nil:
			e.replace(existing.SrcRange.Start.Byte, existing.SrcRange.End.Byte, removed)
		case s.Value != "":
			e.insert(at, s)
		}
	}
	text := e.apply()
	if bytes.Equal(hclwrite.Format(src), src) {
		text = hclwrite.Format(text)
	}
	return text, nil
}

// editing collects replacements of ranges of a text. The ranges do not overlap.
type editing struct {
	src   []byte
	edits []edit
}

type edit struct {
	from, to int
	text     string
}

func (e *editing) replace(from, to int, text string) {
	e.edits = append(e.edits, edit{from, to, text})
}

// insert adds a new attribute before at: on a separate line if at begins its line.
func (e *editing) insert(at *hclsyntax.Attribute, s Setting) {
	from := at.SrcRange.Start.Byte
	line := bytes.LastIndexByte(e.src[:from], '\n') + 1
	indent := string(e.src[line:from])
	if strings.TrimSpace(indent) != "" {
		e.replace(from, from, s.Name+" = "+s.Value+"  ")
		return
	}
	width := at.EqualsRange.Start.Byte - from - 1 // the equals signs of a block are aligned
	e.replace(line, line, fmt.Sprintf("%s%-*s = %s\n", indent, width, s.Name, s.Value))
}

// removed marks the place of a removed attribute until all edits are applied.
const removed = "\x00"

var (
	// removedLine matches a line that contained only removed attributes.
	removedLine = regexp.MustCompile(`(?m)^[ \t]*(?:\x00[ \t]*)+\r?\n`)
	removedPart = regexp.MustCompile(`\x00[ \t]*`)
)

// apply returns the edited text. Several insertions at the same place keep the order of their
// calls.
func (e *editing) apply() []byte {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.from - b.from })
	var out []byte
	done := 0
	for _, ed := range e.edits {
		out = append(append(out, e.src[done:ed.from]...), ed.text...)
		done = ed.to
	}
	out = append(out, e.src[done:]...)
	return removedPart.ReplaceAll(removedLine.ReplaceAll(out, nil), nil)
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// fileBytesMax is the maximum size of a file in bytes. It also limits the depth of the parser's
// recursion.
const fileBytesMax = 64 << 10

type fileValue struct {
	at    hcl.Range
	texts []string
}

// readFile returns the values in a file, by the path of the setting. If it finds problems, it adds
// them to problems and still returns the valid values, so that the caller can check these too.
func readFile(path string, table []*Setting, problems *Problems) map[string]fileValue {
	src, err := readSource(path)
	if err != nil {
		problems.add(path, err.Error(), "")
		return nil
	}
	r := &fileReader{table: table, problems: problems, values: map[string]fileValue{}}
	if at := tooDeep(src, path); at != nil {
		problems.add(place(*at), "brackets or operators nest too deep", "write values out")
		return nil
	}
	parsed, diags := hclsyntax.ParseConfig(src, path, hcl.InitialPos)
	r.syntax(diags)
	if parsed != nil {
		if body, ok := parsed.Body.(*hclsyntax.Body); ok {
			r.body("", body)
		}
	}
	return r.values
}

func readSource(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", withoutPath(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file: name a file in HCL")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", withoutPath(err))
	}
	var src bytes.Buffer
	n, err := io.Copy(&src, io.LimitReader(f, fileBytesMax+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("can't be read: %w", withoutPath(err))
	}
	if n > fileBytesMax {
		return nil, fmt.Errorf("is larger than %s: name a configuration file", FormatSize(fileBytesMax))
	}
	return src.Bytes(), nil
}

// withoutPath removes the path from an error, because the problem already names it.
func withoutPath(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// These limit the parser's input: the parser is recursive, and deeply nested input would exhaust
// the stack.
const (
	bracketsMax  = 16
	operatorsMax = 200
)

// tooDeep returns the place where a text is nested too deeply for the parser, or nil.
func tooDeep(src []byte, path string) *hcl.Range {
	// Ignore problems of tokens, since the parser reports them too.
	tokens, _ := hclsyntax.LexConfig(src, path, hcl.InitialPos)
	depth, operators := 0, 0
	for i := range tokens {
		switch tokens[i].Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			depth++
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			depth--
		case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit,
			hclsyntax.TokenEqual, hclsyntax.TokenComma, hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenEOF:
		default:
			operators++
		}
		if depth > bracketsMax || operators > operatorsMax {
			return &tokens[i].Range
		}
	}
	return nil
}

type fileReader struct {
	table    []*Setting
	problems *Problems
	values   map[string]fileValue
}

func (r *fileReader) note(at hcl.Range, message, remedy string) {
	r.problems.addAt(at.Start.Byte+1, place(at), message, remedy)
}

func place(r hcl.Range) string {
	return fmt.Sprintf("%s:%d:%d", r.Filename, r.Start.Line, r.Start.Column)
}

func (r *fileReader) syntax(diags hcl.Diagnostics) {
	for _, d := range diags {
		at := hcl.Range{Start: hcl.InitialPos}
		if d.Subject != nil {
			at = *d.Subject
		}
		r.note(at, strings.TrimSuffix(d.Summary, "."), strings.TrimSuffix(d.Detail, "."))
	}
}

// body reads the body of the block with the given name, or the top level of the file if block is
// "".
func (r *fileReader) body(block string, body *hclsyntax.Body) {
	attributes := make([]*hclsyntax.Attribute, 0, len(body.Attributes))
	for _, a := range body.Attributes {
		attributes = append(attributes, a)
	}
	slices.SortFunc(attributes, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	for _, a := range attributes {
		r.attribute(block, a)
	}
	first := map[string]hcl.Range{}
	for _, b := range body.Blocks {
		switch earlier, again := first[b.Type]; {
		case block != "" || !slices.Contains(r.blocks(), b.Type):
			r.unknown(block, "block", b.Type, b.TypeRange)
		case again:
			r.note(b.TypeRange, fmt.Sprintf("the block %s is repeated", b.Type), "write everything into the block at "+place(earlier))
		case len(b.Labels) > 0:
			r.note(b.LabelRanges[0], fmt.Sprintf("the block %s takes no name", b.Type), "write "+b.Type+" { ... }")
			fallthrough
		default:
			first[b.Type] = b.TypeRange
			r.body(b.Type, b.Body)
		}
	}
}

func join(block, name string) string {
	if block == "" {
		return name
	}
	return block + "." + name
}

func (r *fileReader) attribute(block string, a *hclsyntax.Attribute) {
	path := join(block, a.Name)
	i := slices.IndexFunc(r.table, func(s *Setting) bool { return s.Path == path })
	switch {
	case i < 0:
		r.unknown(block, "attribute", a.Name, a.NameRange)
		return
	case r.table[i].NotInFile:
		r.note(a.NameRange, fmt.Sprintf("%s cannot be in the file, where it would take effect at every start", path), "pass --"+r.table[i].Flag()+" to one start")
		return
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() {
		r.syntax(diags)
		return
	}
	if twice := repeated(a.Expr); twice != nil {
		r.note(*twice, fmt.Sprintf("%s has this name twice", pathName(path)), "keep one of them")
		return
	}
	texts, remedy := texts(r.table[i].value.kind, v)
	if remedy != "" {
		r.note(a.Expr.Range(), fmt.Sprintf("%s is %s", pathName(path), v.Type().FriendlyName()), remedy)
		return
	}
	r.values[path] = fileValue{at: a.NameRange, texts: texts}
}

// texts converts a value in a file to the texts that a flag would have. If it cannot, it returns a
// remedy.
func texts(k kind, v cty.Value) (texts []string, remedy string) {
	isA := func(t cty.Type) bool { return !v.IsNull() && v.IsKnown() && v.Type() == t }
	switch k {
	case kindBool:
		if isA(cty.Bool) {
			return []string{strconv.FormatBool(v.True())}, ""
		}
		return nil, "write true or false, without quotes"
	case kindNumber:
		if isA(cty.Number) {
			return []string{v.AsBigFloat().Text('f', -1)}, ""
		}
		return nil, "write a whole number, without quotes"
	case kindList:
		if items, ok := stringList(v); ok {
			return items, ""
		}
		if !isA(cty.String) {
			return nil, `write a list of strings, as in ["127.0.0.1:7070"]`
		}
	case kindMap:
		if items, ok := stringPairs(v); ok {
			return items, ""
		}
		if !isA(cty.String) {
			return nil, `write names with strings, as in { n1 = "127.0.0.1:7073" }`
		}
	case kindDuration:
		if !isA(cty.String) {
			return nil, `write a string with the unit, as in "30s"`
		}
	case kindSize:
		if !isA(cty.String) {
			return nil, `write a string with the unit, as in "64KiB"`
		}
	case kindSpace:
		if !isA(cty.String) {
			return nil, `write a string, as in "5%", "2GiB" or "auto"`
		}
	case kindMemory:
		if !isA(cty.String) {
			return nil, `write a string with the unit, as in "2GiB", or a percentage, as in "25%"`
		}
	case kindText, kindChoice:
		if !isA(cty.String) {
			return nil, "write a string, in quotes"
		}
	}
	return []string{v.AsString()}, ""
}

func stringList(v cty.Value) ([]string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsTupleType() {
		return nil, false
	}
	items := make([]string, 0, v.LengthInt())
	for _, item := range v.AsValueSlice() {
		if item.IsNull() || item.Type() != cty.String {
			return nil, false
		}
		items = append(items, item.AsString())
	}
	return items, true
}

// stringPairs returns the members of an object as NAME=VALUE pairs, sorted by name.
func stringPairs(v cty.Value) ([]string, bool) {
	if v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() {
		return nil, false
	}
	items := make([]string, 0, v.LengthInt())
	for name, item := range v.AsValueMap() {
		if item.IsNull() || item.Type() != cty.String || strings.ContainsAny(name+item.AsString(), "=,") {
			return nil, false
		}
		items = append(items, name+"="+item.AsString())
	}
	slices.Sort(items)
	return items, true
}

// repeated returns the place where an object contains the same name a second time, or nil. Without
// this check, the parser would silently use the last value.
func repeated(e hclsyntax.Expression) *hcl.Range {
	object, is := e.(*hclsyntax.ObjectConsExpr)
	if !is {
		return nil
	}
	seen := map[string]bool{}
	for _, item := range object.Items {
		name, diags := item.KeyExpr.Value(nil)
		// Skip a name with an error: evaluating the whole object reports the error.
		if diags.HasErrors() || name.IsNull() || name.Type() != cty.String {
			continue
		}
		if seen[name.AsString()] {
			at := item.KeyExpr.Range()
			return &at
		}
		seen[name.AsString()] = true
	}
	return nil
}

func (r *fileReader) blocks() (names []string) {
	for _, s := range r.table {
		if block, _, inner := strings.Cut(s.Path, "."); inner && !slices.Contains(names, block) {
			names = append(names, block)
		}
	}
	return names
}

// attributes returns the names of the settings that a block may contain. If of is "", it returns
// the names at the top level.
func (r *fileReader) attributes(of string) (names []string) {
	for _, s := range r.table {
		block, name, inner := strings.Cut(s.Path, ".")
		if !inner {
			block, name = "", s.Path
		}
		if block == of && !s.NotInFile {
			names = append(names, name)
		}
	}
	return names
}

func (r *fileReader) unknown(block, what, name string, at hcl.Range) {
	where := "the file"
	blocks := r.blocks()
	if block != "" {
		where, blocks = "the block "+block, nil
	}
	attributes := r.attributes(block)
	remedy := ""
	switch {
	case what == "attribute" && slices.Contains(blocks, name):
		remedy = fmt.Sprintf("%s is a block: write %s { ... } without =", name, name)
	case what == "block" && slices.Contains(attributes, name):
		remedy = fmt.Sprintf("%s is an attribute: write %s = ...", name, name)
	default:
		names := attributes
		if what == "block" {
			names = blocks
		}
		if meant := Nearest(name, names); meant != "" {
			remedy = fmt.Sprintf("did you mean %s?", meant)
		} else if elsewhere := r.elsewhere(name); elsewhere != "" {
			remedy = fmt.Sprintf("did you mean %s?", elsewhere)
		} else if len(names) > 0 {
			remedy = fmt.Sprintf("the %ss here are: %s", what, strings.Join(names, ", "))
		}
	}
	r.note(at, fmt.Sprintf("unknown %s %s in %s", what, name, where), remedy)
}

// elsewhere looks for a misplaced name in other blocks. It returns its place, such as "lease in
// queue" or "shards outside of blocks".
func (r *fileReader) elsewhere(name string) string {
	for _, s := range r.table {
		block, inner, nested := strings.Cut(s.Path, ".")
		switch {
		case s.NotInFile:
		case nested && (inner == name || s.Flag() == name || block+"_"+inner == name):
			return pathName(s.Path)
		case !nested && s.Path == name:
			return name + " outside of blocks"
		}
	}
	return ""
}

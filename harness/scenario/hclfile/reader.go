package hclfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// maxFileBytes bounds what is read of a file, and with it the work and the depth of the parser.
	maxFileBytes = 64 << 10
	// maxRepairs bounds how many lines with syntax errors are passed over to find those after them.
	maxRepairs = 20
)

// Reader reads files and collects what is wrong with them. The zero value is ready. It is not safe for
// concurrent use.
type Reader struct {
	// Vars are values for variables, by their names, in place of the files' own.
	Vars map[string]string
	// Read returns what is in a file, or says why it can't; nil reads from the file system.
	Read func(path string) ([]byte, error)

	files       int
	sources     map[string]*source // by their clean paths
	variables   []string           // of all files
	diagnostics Diagnostics
}

func (r *Reader) read(path string) ([]byte, error) {
	if r.Read != nil {
		return r.Read(path)
	}
	return ReadFile(path)
}

// known notes that a file has a variable of that name.
func (r *Reader) known(variable string) {
	if !slices.Contains(r.variables, variable) {
		r.variables = append(r.variables, variable)
	}
}

// given notes what is wrong with a value of Vars.
func (r *Reader) given(name, text, message, remedy string) {
	f := &file{name: fmt.Sprintf("--var %s=%s", clip(name), clip(strings.ToValidUTF8(text, "�"))), order: -1}
	r.diagnostics.add(f.problem(whole, message, remedy))
}

// CheckVars notes each of Vars that is no variable of any file read so far.
func (r *Reader) CheckVars() {
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		if slices.Contains(r.variables, name) {
			continue
		}
		slices.Sort(r.variables)
		remedy := "no file has variables"
		if len(r.variables) > 0 {
			remedy = "there are: " + List(r.variables)
		}
		if meant := Nearest(name, r.variables); meant != "" {
			remedy = fmt.Sprintf("did you mean %q?", meant)
		}
		r.given(name, r.Vars[name], fmt.Sprintf("no file has a variable %q", clip(name)), remedy)
	}
}

// Err returns all problems found so far as a *Diagnostics, or nil when there are none.
func (r *Reader) Err() error {
	if len(r.diagnostics.Problems) == 0 {
		return nil
	}
	d := r.diagnostics
	d.sort()
	return &d
}

// Problem notes a problem of a whole path, for example one that should be a folder.
func (r *Reader) Problem(path, message, remedy string) {
	f := &file{name: path, order: r.files}
	r.files++
	r.diagnostics.add(f.problem(whole, message, remedy))
}

// File reads the file at path and returns its outermost level as a Block that knows the given names. It
// returns nil, after noting why, when there is nothing to ask: the file cannot be read, is no regular file or
// is larger than 64 KiB.
func (r *Reader) File(path string, names Names) *Block {
	s := r.open(path)
	if s.err != nil {
		r.Problem(path, s.err.Error(), "")
		return nil
	}
	return r.root(s, path, names)
}

// root is the outermost level of a file, called by the path that was given for it.
func (r *Reader) root(s *source, path string, names Names) *Block {
	if s.body == nil {
		return nil
	}
	s.file.name = path
	return newBlock(r, s.file, nil, s.body, names, newScope())
}

// ReadFile returns what is in a regular file, up to a little more than what a file may have. Its errors do not name the
// path.
func ReadFile(path string) ([]byte, error) {
	src, err := readRegular(path, maxFileBytes)
	if errors.Is(err, errNotRegular) {
		return nil, fmt.Errorf("%w; name a file that ends in .hcl", err)
	}
	return src, err
}

// reason strips the operation and the path from an error, since a problem names the path already.
func reason(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Source is File for a text that is in memory; name stands for the path in problems.
func (r *Reader) Source(name string, src []byte, names Names) *Block {
	f := &file{name: name, order: r.files, src: src}
	r.files++
	s := &source{file: f, body: r.body(f)}
	r.keep(s)
	return r.root(s, name, names)
}

// body parses a file, or notes that it is too large and returns nil.
func (r *Reader) body(f *file) *hclsyntax.Body {
	if len(f.src) > maxFileBytes {
		r.diagnostics.add(f.problem(whole, fmt.Sprintf("is larger than %d KiB", maxFileBytes>>10), "split it into several files"))
		return nil
	}
	return r.parse(f)
}

// parse returns what can be read of f. The parser gives up on reporting after the first syntax error, so a
// line with one is noted, blanked and passed over until no line, or one that opens or closes a bracket and
// cannot be spared, is left.
func (r *Reader) parse(f *file) *hclsyntax.Body {
	src := bytes.Clone(f.src)
	for pass := 0; ; pass++ {
		body, errs, twice := parseOnce(f, src)
		last := len(errs) == 0 || pass == maxRepairs
		if !last {
			f.broken = true
			spared := body != nil && errs[0].Subject != nil && blank(src, f.span(*errs[0].Subject).start)
			if spared {
				errs = errs[:1]
			}
			r.report(f, errs)
			last = !spared
		}
		if last {
			r.report(f, twice)
			return body
		}
	}
}

// parseOnce parses src, a text of f's length. It returns the syntax errors and, apart from them, the attributes
// that are set twice in a block.
func parseOnce(f *file, src []byte) (body *hclsyntax.Body, errs, twice hcl.Diagnostics) {
	start := hcl.Pos{Line: 1, Column: 1}
	// What is wrong with the tokens is reported by the parser too, which sees them again.
	tokens, _ := hclsyntax.LexConfig(src, f.name, start)
	breaks, tooDeep := split(tokens)
	f.breaks = breaks
	if tooDeep >= 0 {
		return nil, hcl.Diagnostics{{
			Summary: fmt.Sprintf("Brackets nest more than %d deep", maxDepth),
			Detail:  "Write values out flat.",
			Subject: &tokens[tooDeep].Range,
		}}, nil
	}
	parsed, diags := hclsyntax.ParseConfig(insert(src, breaks), f.name, start)
	for _, d := range diags {
		if d.Summary == redefined {
			twice = append(twice, d)
		} else {
			errs = append(errs, d)
		}
	}
	body, _ = parsed.Body.(*hclsyntax.Body)
	return body, errs, twice
}

// report notes what the parser says, or only counts it where enough is kept already: a file of garbage has
// tens of thousands of errors, and each that is kept costs a look at its line.
func (r *Reader) report(f *file, diags hcl.Diagnostics) {
	for _, d := range diags {
		if len(r.diagnostics.Problems) >= maxProblems {
			r.diagnostics.Omitted++
			continue
		}
		r.diagnostics.add(f.syntax(d))
	}
}

// redefined is what the parser says of an attribute that is set twice, which is not an error of syntax.
const redefined = "Attribute redefined"

// syntax translates what the parser or the evaluation of a value says.
func (f *file) syntax(d *hcl.Diagnostic) Problem {
	at := whole
	if d.Subject != nil {
		at = f.span(*d.Subject)
	}
	if d.Summary == redefined {
		return f.problem(at, fmt.Sprintf("%s is set twice in the same block", f.text(at)), "keep one of the two")
	}
	return f.problem(at, "syntax: "+d.Summary, d.Detail)
}

// blank overwrites the line around offset with spaces and reports whether it did: not when the line holds a
// bracket, whose partner would then stand alone, or is blank already.
func blank(src []byte, offset int) bool {
	if offset < 0 || offset > len(src) {
		return false
	}
	start := bytes.LastIndexByte(src[:offset], '\n') + 1
	line := src[start:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	if bytes.ContainsAny(line, "{}[]()<") || len(bytes.TrimSpace(line)) == 0 {
		return false
	}
	for i := range line {
		line[i] = ' '
	}
	return true
}

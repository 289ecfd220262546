package hclfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

const (
	// fileBytesMax bounds, unless the reader says otherwise, the size of a file, and thereby the
	// work and the depth of the parser.
	fileBytesMax = 64 << 10
	// lineBytesMax bounds a line, unless the reader says otherwise, which is shown whole with each
	// problem in it.
	lineBytesMax = 1000
	// repairsMax bounds how many lines with syntax errors are passed over to find those after them.
	repairsMax = 20
)

// source is a file that was read.
type source struct {
	name   string
	order  int // among the files of the reader
	src    []byte
	body   *hclsyntax.Body // nil where nothing can be asked, which was noted unless err says it
	nav    any
	err    error // why it can't be read
	broken bool  // it has syntax errors, so that what is absent is perhaps only unread
}

// place returns a range with the line and the columns of its first line in the source: the parser's
// text has more lines.
func (s *source) place(r hcl.Range) *hcl.Range {
	pos := func(offset int) hcl.Pos {
		before := s.src[:offset]
		line := bytes.LastIndexByte(before, '\n') + 1
		return hcl.Pos{Line: bytes.Count(before, []byte{'\n'}) + 1, Column: utf8.RuneCount(before[line:]) + 1, Byte: offset}
	}
	start := min(r.Start.Byte, len(s.src))
	end := min(max(r.End.Byte, start), len(s.src))
	if i := bytes.IndexByte(s.src[start:end], '\n'); i >= 0 {
		end = start + i
	}
	if start == end && start > 0 && s.src[start-1] != '\n' {
		start-- // a problem at the end of a line is shown with that line only
	}
	return &hcl.Range{Filename: r.Filename, Start: pos(start), End: pos(end)}
}

// parse reads the body of a source, or notes why it can't. The parser gives up on reporting after
// the first syntax error, so a line with one is noted, blanked and passed over, until no line is
// left, or one that opens or closes a bracket.
func (r *Reader) parse(s *source) {
	if len(s.src) > r.bytesMax() {
		r.Problem(s.name, fmt.Sprintf("is larger than %d KiB", r.bytesMax()>>10), "split it into several files")
		return
	}
	number := 0
	longest := cmp.Or(r.LineBytesMax, lineBytesMax)
	for line := range bytes.Lines(s.src) {
		if number++; len(line) > longest {
			r.Problem(s.name, fmt.Sprintf("line %d is longer than %d bytes", number, longest), "write it on several lines")
			return
		}
	}
	src := bytes.Clone(s.src)
	for range repairsMax {
		errs, twice := s.parseOnce(src)
		if len(errs) == 0 {
			for _, d := range twice {
				r.problem(*d.Subject, fmt.Sprintf("%s is set twice in the same block", d.Subject.SliceBytes(src)), "keep one of the two")
			}
			return
		}
		s.broken = true
		r.syntax(errs[0])
		if !blank(src, errs[0].Subject.Start.Byte) {
			for _, d := range errs[1:] {
				r.syntax(d)
			}
			return
		}
	}
}

// redefined is what the parser says of an attribute that is set twice, which is not an error of
// syntax.
const redefined = "Attribute redefined"

// parseOnce parses src, a text of the source's length, and returns the syntax errors and, apart
// from them, the attributes that are set twice in a block.
func (s *source) parseOnce(src []byte) (errs, twice hcl.Diagnostics) {
	// What is wrong with the tokens is reported by the parser too, which sees them again.
	tokens, _ := hclsyntax.LexConfig(src, s.name, hcl.InitialPos)
	if at, message := excessive(tokens); at != nil {
		return hcl.Diagnostics{{Summary: message, Subject: at}}, nil
	}
	file, diags := hclsyntax.ParseConfig(separate(src, tokens), s.name, hcl.InitialPos)
	for _, d := range diags {
		if d.Summary == redefined {
			twice = append(twice, d)
		} else {
			errs = append(errs, d)
		}
	}
	s.body, s.nav = file.Body.(*hclsyntax.Body), file.Nav
	return errs, twice
}

func (r *Reader) syntax(d *hcl.Diagnostic) { r.problem(*d.Subject, "syntax: "+d.Summary, d.Detail) }

// blank overwrites the line around offset with spaces and reports whether it did: not when the line
// holds a bracket, whose partner would then stand alone, or is blank already.
func blank(src []byte, offset int) bool {
	offset = min(offset, len(src))
	line := src[bytes.LastIndexByte(src[:offset], '\n')+1:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	if bytes.ContainsAny(line, "{}[]()<") || len(bytes.TrimSpace(line)) == 0 {
		return false
	}
	copy(line, strings.Repeat(" ", len(line)))
	return true
}

// ReadFile returns the content of a regular file, at most bytesMax+1 bytes of it. Its errors do not
// name the path.
func ReadFile(path string, bytesMax int) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	var src []byte
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if err == nil {
		src, err = io.ReadAll(io.LimitReader(f, int64(bytesMax)+1))
		err = errors.Join(err, f.Close())
	}
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err // a problem names the path already
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return src, nil
}

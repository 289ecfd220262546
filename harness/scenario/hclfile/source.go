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
	// fileBytesMax is the default bound on the size of a file, and thus on the work and the
	// recursion of the parser.
	fileBytesMax = 64 << 10
	// lineBytesMax is the default bound on the length of a line. Messages show the whole line of
	// each problem.
	lineBytesMax = 1000
	// repairsMax bounds the number of lines with syntax errors that are skipped to find later ones.
	repairsMax = 20
)

type source struct {
	name   string
	order  int // position among the files of the reader
	src    []byte
	body   *hclsyntax.Body // nil after a failure, which is noted or in err
	nav    any
	err    error // why it can't be read
	broken bool  // it has syntax errors, so required parts may have been skipped
}

// place converts a range in the parser's text, which has more lines than the source, to the line
// and the columns of its first line in the source.
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
		start-- // for a problem at the end of a line, show only that line
	}
	return &hcl.Range{Filename: r.Filename, Start: pos(start), End: pos(end)}
}

// parse sets the body of a source, or notes the problems. The parser stops reporting after the
// first syntax error. parse therefore notes the error, blanks its line and parses again, until
// there are no more errors or the line of the error contains a bracket.
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

// redefined is the parser's summary for an attribute that is set twice. It is not a syntax error.
const redefined = "Attribute redefined"

// parseOnce parses src, which must have the length of the source. It returns the syntax errors and,
// separately, the errors about attributes that are set twice in a block.
func (s *source) parseOnce(src []byte) (errs, twice hcl.Diagnostics) {
	// The parser repeats the lexer's errors.
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

// blank overwrites the line around offset with spaces and reports whether it did. It does nothing
// if the line contains a bracket, whose counterpart would then be unmatched, or is already blank.
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

// ReadFile returns at most the first bytesMax+1 bytes of a regular file. Its errors do not contain
// the path.
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
		err = wrapped.Err // problems already contain the path
	}
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return src, nil
}

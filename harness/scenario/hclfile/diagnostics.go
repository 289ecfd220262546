package hclfile

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// problemsMax bounds the number of stored problems. Further problems are only counted.
const problemsMax = 100

// Diagnostics is the error of a read: all problems of all files, in the order of the files and of
// the places in them.
type Diagnostics struct {
	// Problems have the message in Summary, the remedy in Detail, and the place in Subject. A
	// problem of a whole file, or of a variable given from outside, has a Subject with a Filename
	// and without a line.
	Problems hcl.Diagnostics
	// Omitted is the number of problems after the first 100, which are not stored.
	Omitted int

	files map[string]*hcl.File
}

// Error formats all problems as plain text, each with its line, and ends with their number.
func (d *Diagnostics) Error() string {
	var text strings.Builder
	writer := hcl.NewDiagnosticTextWriter(&text, d.files, 0, false)
	files := map[string]bool{}
	for _, p := range d.Problems {
		name := p.Subject.Filename
		if !strings.HasPrefix(name, givenPrefix) {
			files[name] = true
		}
		if p.Subject.Start.Line == 0 {
			p = &hcl.Diagnostic{Severity: p.Severity, Summary: name + ": " + p.Summary, Detail: p.Detail}
		}
		_ = writer.WriteDiagnostic(p) // a strings.Builder never fails
	}
	text.WriteString(count(len(d.Problems)+d.Omitted, "error"))
	if len(files) > 0 {
		text.WriteString(" in " + count(len(files), "file"))
	}
	if d.Omitted > 0 {
		fmt.Fprintf(&text, ", of which %d are shown", len(d.Problems))
	}
	return printable(text.String())
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// printable replaces control characters and invalid UTF-8, which could disturb a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\r':
			return -1
		case r != '\n' && !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, text)
}

// add stores a problem unless an equal one at the same place is already stored.
func (r *Reader) add(d *hcl.Diagnostic) {
	if len(r.problems) == problemsMax {
		r.omitted++
		return
	}
	kept := *unwrapped(d)
	kept.Severity, kept.Context = hcl.DiagError, nil
	if s := r.named[kept.Subject.Filename]; s != nil && kept.Subject.Start.Line > 0 {
		kept.Subject = s.place(*kept.Subject)
	}
	same := func(p *hcl.Diagnostic) bool { return *p.Subject == *kept.Subject && p.Summary == kept.Summary }
	if !slices.ContainsFunc(r.problems, same) {
		r.problems = append(r.problems, &kept)
	}
}

func (r *Reader) problem(at hcl.Range, message, remedy string) {
	r.add(&hcl.Diagnostic{Summary: message, Detail: remedy, Subject: &at})
}

// Problem notes a problem of a whole path, such as a file that should be a folder.
func (r *Reader) Problem(path, message, remedy string) {
	r.problem(hcl.Range{Filename: path}, message, remedy)
}

// Err returns a *Diagnostics with all problems found so far. It returns nil if the reader has found
// no problem.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	d := &Diagnostics{Problems: slices.Clone(r.problems), Omitted: r.omitted, files: map[string]*hcl.File{}}
	for name, s := range r.named {
		d.files[name] = &hcl.File{Bytes: s.src, Nav: s.nav}
	}
	order := func(p *hcl.Diagnostic) int {
		if s := r.named[p.Subject.Filename]; s != nil {
			return s.order
		}
		return -1
	}
	slices.SortStableFunc(d.Problems, func(a, b *hcl.Diagnostic) int {
		if by := order(a) - order(b); by != 0 {
			return by
		}
		return a.Subject.Start.Byte - b.Subject.Start.Byte
	})
	return d
}

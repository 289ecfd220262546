package hclfile

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

const (
	// snippetMax bounds, in characters, how much of a line is shown.
	snippetMax = 120
	// tab is what a tab is shown as, so that the marker stands under the fault in every terminal.
	tab = "    "
)

// file is one source text with what is needed to point into it.
type file struct {
	name   string
	order  int // among the files of the reader
	src    []byte
	breaks []int // offsets in src before which a newline was inserted for the parser; see split.go
	broken bool  // it has syntax errors, so that what is absent is perhaps only unread
}

// span is a part of a file's source, in bytes: [start, end).
type span struct{ start, end int }

// whole is the span of a problem that concerns the file and no place in it.
var whole = span{-1, -1}

// span translates a range of the text that the parser saw into one of the source.
func (f *file) span(r hcl.Range) span {
	s := span{f.original(r.Start.Byte), f.original(r.End.Byte)}
	if s.end < s.start {
		s.end = s.start
	}
	return s
}

// original translates an offset in the text that the parser saw into one in src.
func (f *file) original(offset int) int {
	inserted := sort.Search(len(f.breaks), func(i int) bool { return f.breaks[i]+i >= offset })
	return min(max(offset-inserted, 0), len(f.src))
}

// position returns the line and the column, in characters, of an offset; both count from 1.
func (f *file) position(offset int) (line, column int) {
	before := f.src[:offset]
	line = bytes.Count(before, []byte{'\n'}) + 1
	start := bytes.LastIndexByte(before, '\n') + 1
	return line, utf8.RuneCount(before[start:]) + 1
}

// where names a place of the file for use inside a message: path:line:column.
func (f *file) where(s span) string {
	line, column := f.position(s.start)
	return fmt.Sprintf("%s:%d:%d", f.name, line, column)
}

// problem builds a problem that points at s.
func (f *file) problem(s span, message, remedy string) Problem {
	p := Problem{File: f.name, Message: message, Remedy: remedy, order: f.order, offset: s.start}
	if s == whole {
		return p
	}
	p.Line, p.Column = f.position(s.start)
	p.snippet = f.snippet(s, p.Line)
	return p
}

// snippet shows the line that s starts in, with a marker under the part of s on that line.
func (f *file) snippet(s span, number int) string {
	start := bytes.LastIndexByte(f.src[:s.start], '\n') + 1
	end := len(f.src)
	if i := bytes.IndexByte(f.src[s.start:], '\n'); i >= 0 {
		end = s.start + i
	}
	// A long line is cut on both sides of the fault, which stays visible: roughly in bytes, then in characters.
	stop := min(max(s.end, s.start), end)
	before := printable(f.src[max(start, s.start-8*snippetMax):s.start])
	fault := printable(f.src[s.start:min(stop, s.start+8*snippetMax)])
	after := printable(f.src[stop:min(end, stop+8*snippetMax)])
	if n := utf8.RuneCountInString(before); n > snippetMax/2 {
		before = "…" + string([]rune(before)[n-snippetMax/2:])
	}
	if n := utf8.RuneCountInString(fault); n > snippetMax/2 {
		fault = string([]rune(fault)[:snippetMax/2]) + "…"
	}
	if room := snippetMax - utf8.RuneCountInString(before+fault); utf8.RuneCountInString(after) > max(room, 0) {
		after = string([]rune(after)[:max(room, 0)]) + "…"
	}
	gutter := fmt.Sprintf("%5d", number)
	line := strings.TrimRight(gutter+" | "+before+fault+after, " ")
	marker := strings.Repeat(" ", utf8.RuneCountInString(before)) +
		strings.Repeat("^", max(utf8.RuneCountInString(fault), 1))
	return line + "\n" + strings.Repeat(" ", len(gutter)) + " | " + marker
}

// text returns the source of s on one line, cut to a length that fits in a message.
func (f *file) text(s span) string {
	words := strings.Join(strings.Fields(printable(f.src[s.start:s.end])), " ")
	if r := []rune(words); len(r) > 40 {
		words = string(r[:40]) + "…"
	}
	return words
}

// printable replaces what would disturb a terminal: tabs, control characters and invalid UTF-8.
func printable(src []byte) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(string(src), "�") {
		switch {
		case r == '\t':
			b.WriteString(tab)
		case r == '\r':
		case r == '\n':
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteRune('�')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

package hclfile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Reader reads files and collects their problems. The zero value is ready to use. A Reader is not
// safe for concurrent use.
type Reader struct {
	// Vars are values for variables, by name, which override the defaults in the files.
	Vars map[string]string
	// Read returns the content of a file. nil reads from the file system.
	Read func(path string) ([]byte, error)

	// BytesMax bounds the size of a file; 0 means 64 KiB.
	BytesMax int
	// LineBytesMax bounds a line, because messages show the whole line of each problem; 0 means
	// 1000.
	LineBytesMax int

	named     map[string]*source // by cleaned path, and by name in problems
	files     int
	variables []string // the names of the variables of all files
	problems  hcl.Diagnostics
	omitted   int
}

// File reads the file at path and returns its outermost level, in which the given names are
// allowed. It returns nil after it noted a problem if the file cannot be read, is not a regular
// file or is larger than BytesMax.
func (r *Reader) File(path string, names Names) *Block {
	s := r.open(path)
	switch {
	case s.err != nil:
		r.Problem(s.name, s.err.Error(), "")
		return nil
	case s.body == nil:
		return nil
	}
	return newBlock(r, s.name, nil, s.body, names, &scope{names: map[string]*definition{}, declared: map[string]bool{}})
}

// Source is File for a text in memory. name replaces the path in problems.
func (r *Reader) Source(name string, src []byte, names Names) *Block {
	r.keep(&source{name: name, src: src})
	return r.File(name, names)
}

// open returns the source of a file, which it reads only once.
func (r *Reader) open(path string) *source {
	if s, known := r.named[filepath.Clean(path)]; known {
		return s
	}
	src, err := r.read(path, r.bytesMax())
	if errors.Is(err, ErrNotRegular) {
		err = fmt.Errorf("%w; name a file that ends in .hcl", err)
	}
	return r.keep(&source{name: path, src: src, err: err})
}

func (r *Reader) bytesMax() int { return cmp.Or(r.BytesMax, fileBytesMax) }

func (r *Reader) read(path string, bytesMax int) ([]byte, error) {
	if r.Read != nil {
		return r.Read(path)
	}
	return ReadFile(path, bytesMax)
}

func (r *Reader) keep(s *source) *source {
	if r.named == nil {
		r.named = map[string]*source{}
	}
	s.order = r.files
	r.files++
	r.named[filepath.Clean(s.name)], r.named[s.name] = s, s
	if s.err == nil {
		r.parse(s)
	}
	return s
}

// givenPrefix begins the text that replaces the file's name in problems of values from Vars.
const givenPrefix = "--var "

func (r *Reader) given(name, message, remedy string) {
	r.Problem(fmt.Sprintf("%s%s=%s", givenPrefix, clip(name), clip(r.Vars[name])), message, remedy)
}

// CheckVars notes a problem for each name in Vars that no file has defined so far.
func (r *Reader) CheckVars() {
	slices.Sort(r.variables)
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		if !slices.Contains(r.variables, name) {
			r.given(name, fmt.Sprintf("no file has a variable %q", clip(name)), Suggest(name, slices.Compact(r.variables)))
		}
	}
}

func clip(s string) string {
	if r := []rune(s); len(r) > 70 {
		return string(r[:70]) + "…"
	}
	return s
}

// List joins names for a message.
func List(names []string) string { return strings.Join(names, ", ") }

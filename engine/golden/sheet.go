package golden

import (
	"flag"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
)

// A section begins with this and its name.
const heading = "=== "

// A Sheet compares short outputs with the sections of one file. It is safe for concurrent use.
type Sheet struct {
	t    testing.TB
	file string
	want map[string]string

	mu       sync.Mutex
	replaced []string // pairs of old and new
	got      map[string]string
}

// inUse contains the paths of the sheets of running tests.
var inUse sync.Map

// Cases returns the sheet of a file, whose path is relative to the package's folder. When t ends,
// it fails if a section was not compared, unless only a part of t's subtests ran. Use each file in
// one test only.
func Cases(t testing.TB, file string) *Sheet {
	t.Helper()
	s := &Sheet{t: t, file: file, want: map[string]string{}, got: map[string]string{}}
	path := filepath.Join(folder, file)
	if _, taken := inUse.LoadOrStore(path, true); taken {
		t.Fatalf("%s has two sheets: each would write it without the sections of the other one", file)
	}
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		s.want = sections(string(text))
	case !Writing(t):
		t.Errorf("%v: run make golden", err)
	}
	t.Cleanup(func() {
		inUse.Delete(path)
		s.finish(path)
	})
	return s
}

// Replace replaces a text that differs between runs, such as the path of a temporary folder, in all
// outputs that are added later.
func (s *Sheet) Replace(old, with string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaced = append(s.replaced, old, with)
}

// Equal reports an error if text differs from the section with this name. t is the test or subtest
// of the case. A newline at the end of text makes no difference.
func (s *Sheet) Equal(t testing.TB, name, text string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	text = strings.TrimSuffix(strings.NewReplacer(s.replaced...).Replace(text), "\n")
	if strings.Contains(name, "\n") || strings.Contains("\n"+text, "\n"+heading) {
		t.Fatalf("%s: section %q: a name has one line, and no line of a text begins with %q", s.file, name, heading)
	}
	if _, again := s.got[name]; again {
		t.Fatalf("%s: section %q is compared twice", s.file, name)
	}
	s.got[name] = text
	if Writing(t) {
		return
	}
	if want, is := s.want[name]; !is {
		t.Errorf("%s: there is no section %q: run make golden. Its text:\n%s", s.file, name, text)
	} else if want != text {
		t.Errorf("%s: section %q differs, %s\nrun make golden and read the difference", s.file, name, difference(want, text))
	}
}

// Error compares the text of an error, as Equal does. It stops the test if err is nil.
func (s *Sheet) Error(t testing.TB, name string, err error) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s: section %q: an error is expected", s.file, name)
		return
	}
	s.Equal(t, name, err.Error())
}

// finish writes the file, or reports sections that no case was compared with.
func (s *Sheet) finish(path string) {
	s.t.Helper()
	if s.t.Failed() || s.t.Skipped() {
		return
	}
	all := s.got
	if partial() {
		all = s.want
		for name, text := range s.got {
			all[name] = text
		}
	}
	if Writing(s.t) {
		write(s.t, path, joined(all))
		return
	}
	for name := range s.want {
		if _, compared := all[name]; !compared {
			s.t.Errorf("%s: no case is compared with section %q: run make golden", s.file, name)
		}
	}
}

// partial reports whether flags restrict which subtests run.
func partial() bool {
	value := func(name string) string { return flag.Lookup(name).Value.String() }
	return strings.Contains(value("test.run"), "/") || value("test.skip") != ""
}

func sections(text string) map[string]string {
	all := map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n"+heading)[1:] {
		name, body, _ := strings.Cut(part, "\n")
		all[name] = strings.TrimSuffix(body, "\n")
	}
	return all
}

// joined is the inverse of sections, with the sections in the order of their names.
func joined(all map[string]string) string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(heading + name + "\n" + all[name] + "\n")
	}
	return b.String()
}

package pages

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/source"
	"github.com/pronybench/prony/harness/walk"
)

// code links to the line of a declaration and names the test of the page's claim about it. The path
// is relative to the root of the repository. The declaration is the beginning of its line: "func (s
// *Shard) run", "type Batch". The test is NAME, or FOLDER.NAME if several packages have a test of
// that name.
func (w *writer) code(path, declaration, test string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", refuse("%q is not a path relative to the root of the repository", path)
	}
	text, err := os.ReadFile(filepath.Join(w.set.root, path))
	if err != nil {
		return "", refuse("the page's code does not exist: %v: use its current path", err)
	}
	line := source.Line(text, declaration)
	if line == 0 {
		return "", refuse("%s has no line that begins with %q: use the current declaration", path, declaration)
	}
	at, err := w.set.test(test)
	if err != nil {
		return "", err
	}
	_, name := cutTest(test)
	return fmt.Sprintf("[`%s:%d`](../%s#L%d), tested by [`%s`](../%s#L%d)", path, line, path, line, name, at.path, at.line), nil
}

type place struct {
	path string
	line int
}

// testDeclaration matches the tests of a file.
var testDeclaration = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

const testFilesMax = 20_000

func cutTest(test string) (folder, name string) {
	if i := strings.LastIndexByte(test, '.'); i >= 0 {
		return test[:i], test[i+1:]
	}
	return "", test
}

func (s *set) test(test string) (place, error) {
	if s.tests == nil {
		tests, err := findTests(s.root)
		if err != nil {
			return place{}, err
		}
		s.tests = tests
	}
	folder, name := cutTest(test)
	found := slices.Clone(s.tests[name])
	if folder != "" {
		found = slices.DeleteFunc(found, func(p place) bool { return filepath.ToSlash(filepath.Dir(p.path)) != folder })
	}
	switch len(found) {
	case 0:
		return place{}, refuse("there is no test %s: use the name of the test that now covers the claim", test)
	case 1:
		return found[0], nil
	}
	var folders []string
	for _, p := range found {
		folders = append(folders, filepath.ToSlash(filepath.Dir(p.path))+"."+name)
	}
	return place{}, refuse("several packages have a test %s: write one of %s", name, strings.Join(folders, ", "))
}

func findTests(root string) (map[string][]place, error) {
	tests := map[string][]place{}
	files := 0
	err := walk.Dir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		if files++; files > testFilesMax {
			return fmt.Errorf("there are more than %d files of tests below %s", testFilesMax, root)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		of, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, found := range testDeclaration.FindAllSubmatchIndex(text, -1) {
			name := string(text[found[2]:found[3]])
			tests[name] = append(tests[name], place{filepath.ToSlash(of), 1 + bytes.Count(text[:found[0]], []byte("\n"))})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for tests: %w", err)
	}
	return tests, nil
}

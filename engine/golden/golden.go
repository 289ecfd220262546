// Package golden compares the output of tests with files under testdata. `make golden` sets
// PRONY_GOLDEN=write, and the tests then write their output to the files: read the difference before
// you commit it.
//
// Text compares a long output, such as a page, with one file. Cases compares many short ones, such as
// the errors of a table of bad inputs, with the sections of one file.
package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Variable is the environment variable that requests writing.
const Variable = "PRONY_GOLDEN"

// folder is the package's folder: a test binary starts there, and a test may change to another one.
var folder, _ = os.Getwd()

// Writing reports whether tests should write their golden files.
func Writing(t testing.TB) bool {
	t.Helper()
	switch text := os.Getenv(Variable); text {
	case "":
		return false
	case "write":
		return true
	default:
		t.Fatalf("%s is %q: set it to write, or leave it empty", Variable, text)
		return false
	}
}

// Text reports an error if got differs from the content of a file, whose path is relative to the
// package's folder.
func Text(t testing.TB, file, got string) {
	t.Helper()
	path := filepath.Join(folder, file)
	if Writing(t) {
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v: run make golden", err)
		return
	}
	if string(want) != got {
		t.Errorf("%s differs, %s\nrun make golden and read the difference", file, difference(string(want), got))
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// difference shows the lines around the first difference of two texts.
func difference(want, got string) string {
	const before, shown = 2, 7
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	at := 0
	for at < len(w) && at < len(g) && w[at] == g[at] {
		at++
	}
	from := max(0, at-before)
	return fmt.Sprintf("from line %d\nwant:\n%s\ngot:\n%s", from+1,
		strings.Join(w[from:min(from+shown, len(w))], "\n"), strings.Join(g[from:min(from+shown, len(g))], "\n"))
}

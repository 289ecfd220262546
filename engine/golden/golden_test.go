package golden_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// recorder is a test that records its errors and ends when the test says so.
type recorder struct {
	testing.TB

	errors   []string
	cleanups []func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Failed() bool      { return len(r.errors) > 0 }
func (r *recorder) Skipped() bool     { return false }
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Fatal(args ...any) { r.Error(args...); panic(r) }

func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }
func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

// outcome runs f as a test, and returns its errors.
func outcome(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	defer func() {
		for _, end := range r.cleanups {
			end()
		}
	}()
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		f(r)
	}()
	for _, end := range r.cleanups {
		end()
	}
	r.cleanups = nil
	return strings.Join(r.errors, "\n")
}

// in returns the path of a file in a temporary folder, relative to the package's folder.
func in(t *testing.T, name string) (relative, path string) {
	t.Helper()
	t.Setenv(golden.Variable, "")
	here, err := os.Getwd()
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), name)
	relative, err = filepath.Rel(here, path)
	require.NoError(t, err)
	return relative, path
}

// restrict sets a flag of the test binary until the test ends.
func restrict(t *testing.T, name, value string) {
	t.Helper()
	old := flag.Lookup(name).Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { require.NoError(t, flag.Set(name, old)) })
}

func TestText(t *testing.T) {
	file, path := in(t, "sub/page.golden")
	check := func(got string) string {
		return outcome(t, func(t testing.TB) { golden.Text(t, file, got) })
	}
	assert.Contains(t, check("a\nb\n"), "run make golden", "without a file")
	t.Setenv(golden.Variable, "write")
	assert.Empty(t, check("a\nb\n"))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "a\nb\n", string(text))

	t.Setenv(golden.Variable, "")
	assert.Empty(t, check("a\nb\n"))
	assert.Contains(t, check("a\nc\n"), "want:\na\nb\n\ngot:\na\nc\n\n")
	assert.NotEmpty(t, check("a\nb"))
	t.Chdir(t.TempDir())
	assert.Empty(t, check("a\nb\n"), "the path does not depend on the working directory")

	t.Setenv(golden.Variable, "yes")
	assert.Contains(t, check(""), `PRONY_GOLDEN is "yes"`)
}

func TestCases(t *testing.T) {
	file, path := in(t, "errors.golden")
	folder := t.TempDir()
	run := func(cases ...string) string {
		return outcome(t, func(t testing.TB) {
			s := golden.Cases(t, file)
			s.Replace(folder, "FOLDER")
			for _, c := range cases {
				name, text, _ := strings.Cut(c, ":")
				s.Error(t, name, errors.New(text))
			}
		})
	}
	assert.Contains(t, run(), "run make golden", "without a file")
	t.Setenv(golden.Variable, "write")
	require.Empty(t, run("b:two\n\nlines\n", "a:"+folder+"/x"))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "=== a\nFOLDER/x\n\n=== b\ntwo\n\nlines\n", string(text))

	t.Setenv(golden.Variable, "")
	assert.Empty(t, run("a:"+folder+"/x", "b:two\n\nlines"))
	assert.Contains(t, run("a:other", "b:two\n\nlines"), `section "a" differs`)
	assert.Contains(t, run("a:FOLDER/x", "b:two\n\nlines", "c:new"), `no section "c"`)
	assert.Contains(t, run("a:FOLDER/x"), `no case is compared with section "b"`)
	assert.Contains(t, run("a:FOLDER/x", "a:FOLDER/x"), "compared twice")
	assert.Contains(t, run("a:one\n=== two"), "no line of a text begins")
	assert.Contains(t, outcome(t, func(t testing.TB) { golden.Cases(t, file).Error(t, "a", nil) }), "an error is expected")

	assert.Contains(t, outcome(t, func(t testing.TB) {
		golden.Cases(t, file)
		golden.Cases(t, file)
	}), "has two sheets")

	t.Setenv(golden.Variable, "write")
	require.Empty(t, run("a:one"))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "=== a\none\n", string(text), "sections without a case are removed")
}

// Sections of subtests that the flags exclude are kept.
func TestCasesOfSomeSubtests(t *testing.T) {
	file, path := in(t, "errors.golden")
	require.NoError(t, os.WriteFile(path, []byte("=== a\none\n\n=== b\ntwo\n"), 0o600))
	run := func() string {
		return outcome(t, func(t testing.TB) { golden.Cases(t, file).Equal(t, "a", "new") })
	}
	restrict(t, "test.run", "TestCases/a")
	t.Setenv(golden.Variable, "write")
	assert.Empty(t, run())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "=== a\nnew\n\n=== b\ntwo\n", string(text))
	t.Setenv(golden.Variable, "")
	assert.Empty(t, run())
}

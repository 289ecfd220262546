// Package harness_test checks the documents that explain the code.
package harness_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// qualified is a name of the code as the documents write it: a package and what the package
// declares.
var qualified = regexp.MustCompile("`([a-z0-9]+)\\.([A-Za-z]\\w*)`")

// TestArchitectureNamesWhatExists looks up each name that the two ARCHITECTURE.md mention in the
// code of their module.
func TestArchitectureNamesWhatExists(t *testing.T) {
	for _, module := range []string{"../engine", "."} {
		text, err := os.ReadFile(filepath.Join(module, "ARCHITECTURE.md"))
		require.NoError(t, err)
		names := declared(t, module)
		found := qualified.FindAllStringSubmatch(string(text), -1)
		assert.Greater(t, len(found), 10, module)
		for _, name := range found {
			assert.True(t, names[name[1]+"."+name[2]], "%s: package %s declares no %s", module, name[1], name[2])
		}
		tables := regexp.MustCompile("(?m)^\\| ((?:`[a-z/]+`(?:, )?)+) \\|").FindAllStringSubmatch(string(text), -1)
		assert.Greater(t, len(tables), 8, module)
		for _, row := range tables {
			for folder := range strings.SplitSeq(row[1], ", ") {
				assert.DirExists(t, filepath.Join(module, strings.Trim(folder, "`")))
			}
		}
	}
}

// declared returns the names of all functions, methods, types, variables and constants of a module, each behind its package's name.
func declared(t *testing.T, module string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(module, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		add := func(name *ast.Ident) { names[file.Name.Name+"."+name.Name] = true }
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				add(d.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						for _, name := range s.Names {
							add(name)
						}
					}
				}
			}
		}
		return nil
	}))
	return names
}

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	testCommand  = regexp.MustCompile("`[^`]*?go test ([^`]*)`(?: in `([a-z/]+)`)?")
	runPattern   = regexp.MustCompile(`-(?:run|fuzz) (?:'([^']*)'|(\w[^\s;]*))`)
	// testNames is a package and the names of some of its tests, in the last column of a table.
	testNames = regexp.MustCompile("`([a-z/]+)` ([A-Z]\\w+(?: \\([^)]*\\))?(?:, [A-Z]\\w+(?: \\([^)]*\\))?)*)")
	oneName   = regexp.MustCompile(`[A-Z]\w+`)
	remark    = regexp.MustCompile(`\([^)]*\)`)
)

// TestTrustNamesTestsThatExist looks up each test that engine/TRUST.md names or runs.
func TestTrustNamesTestsThatExist(t *testing.T) {
	const engine = "../engine"
	text, err := os.ReadFile(filepath.Join(engine, "TRUST.md"))
	require.NoError(t, err)
	tests := testsBelow(t, engine, ".")
	exists := func(folder string, below bool, matches func(string) bool) bool {
		for of, names := range tests {
			if of != folder && (!below || !strings.HasPrefix(of, folder+"/")) {
				continue
			}
			if slices.ContainsFunc(names, matches) {
				return true
			}
		}
		return false
	}
	looked := 0
	for _, command := range testCommand.FindAllStringSubmatch(string(text), -1) {
		module := engine
		if command[2] != "" {
			module = filepath.Join("..", command[2])
		}
		for one := range strings.SplitSeq(strings.ReplaceAll(command[1], `\|`, "|"), "go test ") {
			pattern := runPattern.FindAllStringSubmatch(one, -1)
			if pattern == nil {
				continue
			}
			for alternative := range strings.SplitSeq(pattern[len(pattern)-1][1]+pattern[len(pattern)-1][2], "|") {
				matches := regexp.MustCompile(alternative).MatchString
				looked++
				found := false
				for _, of := range strings.Fields(one) {
					if folder, is := strings.CutPrefix(of, "."); is {
						folder, below := strings.CutSuffix(folder, "/...")
						found = found || exists(filepath.Join(module, folder), below, matches)
					}
				}
				assert.True(t, found, "no test of %q matches %q", one, alternative)
			}
		}
	}
	for row := range strings.Lines(string(text)) {
		row, is := strings.CutSuffix(strings.TrimSpace(row), "|")
		if !is {
			continue
		}
		for _, of := range testNames.FindAllStringSubmatch(row[strings.LastIndexByte(row, '|')+1:], -1) {
			for _, name := range oneName.FindAllString(remark.ReplaceAllString(of[2], ""), -1) {
				looked++
				found := false
				for folder := range tests {
					if strings.HasSuffix(folder, "/"+of[1]) {
						found = found || exists(folder, false, func(test string) bool { return strings.Contains(test, name) })
					}
				}
				assert.True(t, found, "package %s has no test %s", of[1], name)
			}
		}
	}
	assert.Greater(t, looked, 250)
}

// testsBelow returns the names of the tests and fuzz targets in some folders, by folder.
func testsBelow(t *testing.T, roots ...string) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	for _, root := range roots {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range testFunction.FindAllStringSubmatch(string(text), -1) {
				// Folders of this module have the prefix of the other modules' too.
				folder := filepath.Join("..", "harness", filepath.Dir(path))
				tests[folder] = append(tests[folder], found[1])
			}
			return err
		}))
	}
	return tests
}

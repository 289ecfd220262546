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

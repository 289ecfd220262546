package shard

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

// mutexes returns the mutexes of a file as "package" and "type.field".
func mutexes(t *testing.T, path string) (out []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, f := range s.Fields.List {
			of, ok := f.Type.(*ast.SelectorExpr)
			if !ok || of.Sel.Name != "Mutex" && of.Sel.Name != "RWMutex" {
				continue
			}
			for _, name := range f.Names {
				out = append(out, "`"+file.Name.Name+"` "+spec.Name.Name+"."+name.Name)
			}
		}
		return true
	})
	return out
}

// LOCKS.md documents the order of all locks, and lists each of them.
func TestEveryLockIsInTheTable(t *testing.T) {
	text, err := os.ReadFile("../LOCKS.md")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| (`[a-z]+` \\w+\\.\\w+)").FindAllStringSubmatch(string(text), -1) {
		listed[m[1]] = true
	}
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range mutexes(t, path) {
			assert.True(t, listed[m], "%s of %s is not in LOCKS.md", m, path)
			delete(listed, m)
		}
		return nil
	}))
	assert.Empty(t, listed, "locks in LOCKS.md that are not in the code")
}

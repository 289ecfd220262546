package profile

import (
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table of the engine's locks and the golden files under testdata")

const tableFile = "names_table.go"

// The table of the engine's locks is made from the engine's source, and is what that source makes of it today. Files
// that are only built with a tag are in it too.
func TestNamesAreThoseOfTheEngine(t *testing.T) {
	sites := engineSource(t).sites()
	require.Greater(t, len(sites), 50)
	got := table(sites)
	if *rewrite {
		require.NoError(t, os.WriteFile(tableFile, []byte(got), 0o644))
	}
	want, err := os.ReadFile(tableFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "run go test ./profile -run TestNames -rewrite, and read the difference")
	assert.Equal(t, []string{"shard.inbox.mu"}, engineSites["engine/shard.(*inbox).put"].locks)
	assert.Equal(t, []string{"rpc.outbox.mu"}, engineSites["engine/rpc.(*outbox).take"].locks, "of a generic type")
}

// What is locked, sent to and received from is found through types, whatever the way to it.
func TestSitesOfSource(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a.go": `package a
import ("sync"; "example.org/elsewhere")
type Inner struct { Mu sync.RWMutex; Out chan int; other elsewhere.Lock }
type outer[T any] struct { inner *Inner; mu *sync.Mutex; t T; Inner2 }
type Inner2 struct { in chan struct{} }
var one sync.Mutex
var between = make(chan int)
func (o *outer[T]) f() { o.mu.Lock(); defer o.inner.Mu.RUnlock(); o.inner.other.Lock(); o.inner.Out <- 1 }
func (o outer[T]) g() { go func() { for range o.in {}; <-between }() }
func h(own chan int) { var mu sync.Mutex; mu.Lock(); one.Lock(); own <- 1; between <- 2; elsewhere.Unlock() }
func none() {}
`,
		"b/b.go": `package b
import "github.com/pronybench/prony/engine/a"
type B struct { a *a.Inner }
func (b *B) f() { b.a.Mu.Lock(); select { case v := <-b.a.Out: _ = v; default: } }
`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	s, err := readSource(root)
	require.NoError(t, err)
	assert.Equal(t, map[string]sitesOf{
		"engine/a.(*outer).f": {locks: []string{"a.Inner.Mu", "a.outer.mu"}, sends: []string{"a.Inner.Out"}},
		"engine/a.outer.g":    {receives: []string{"a.between", "a.outer.in"}},
		"engine/a.h":          {locks: []string{"a.h.mu", "a.one"}, sends: []string{"a.between"}},
		"engine/b.(*B).f":     {locks: []string{"a.Inner.Mu"}, receives: []string{"a.Inner.Out"}},
	}, s.sites())
	assert.ElementsMatch(t, []string{"engine/a.(*outer).f", "engine/a.outer.g", "engine/a.h", "engine/a.none", "engine/b.(*B).f"}, s.functions())
	_, err = readSource(filepath.Join(root, "nowhere"))
	require.Error(t, err)
}

// Every function of the table of waits that is the engine's is one that there is.
func TestKnownWaitsAreFunctionsOfTheEngine(t *testing.T) {
	declared := engineSource(t).functions()
	for _, k := range knownWaits {
		name, ours := strings.CutPrefix(k.function, modulePath)
		if !ours {
			continue
		}
		beginning, _ := strings.CutSuffix(name, "*")
		assert.True(t, slices.ContainsFunc(declared, func(f string) bool {
			return strings.HasPrefix(f, beginning) || f == enclosing(name)
		}), "%s is not in the engine", k.function)
		assert.NotEmpty(t, k.why, k.function)
	}
}

// source is the engine as far as its locks go: what it imports from elsewhere has no types, but for sync.
type source struct {
	files map[string][]*ast.File // by folder below the engine's
	fset  *token.FileSet
	done  map[string]*types.Package
	info  types.Info
	std   *types.Package
}

func engineSource(t *testing.T) *source {
	t.Helper()
	s, err := parsed()
	require.NoError(t, err)
	return s
}

// parsed is the engine's source, which is read once for all tests.
var parsed = sync.OnceValues(func() (*source, error) {
	// The tests of allocations record each one: so many would make their profiles unwieldy.
	defer func(rate int) { runtime.MemProfileRate = rate }(runtime.MemProfileRate)
	runtime.MemProfileRate = 0
	return readSource("../../engine")
})

func readSource(root string) (*source, error) {
	s := &source{files: map[string][]*ast.File{}, fset: token.NewFileSet(), done: map[string]*types.Package{}}
	s.info = types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
	}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		s.files[filepath.ToSlash(dir)] = append(s.files[filepath.ToSlash(dir)], file)
		return err
	})
	if err != nil {
		return nil, err
	}
	std, err := parser.ParseFile(s.fset, "sync.go", `package sync
type Mutex struct{}
func (*Mutex) Lock() {}
func (*Mutex) TryLock() bool { return true }
func (*Mutex) Unlock() {}
type RWMutex struct{}
func (*RWMutex) Lock() {}
func (*RWMutex) Unlock() {}
func (*RWMutex) RLock() {}
func (*RWMutex) RUnlock() {}
type WaitGroup struct{}
func (*WaitGroup) Wait() {}
type Once struct{}
func (*Once) Do(func()) {}
`, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s.std = s.check("sync", []*ast.File{std})
	for dir := range s.files {
		if _, err := s.Import(modulePath + "engine/" + dir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Import implements types.Importer.
func (s *source) Import(path string) (*types.Package, error) {
	if path == "sync" {
		return s.std, nil
	}
	if p := s.done[path]; p != nil {
		return p, nil
	}
	files := s.files[strings.TrimPrefix(path, modulePath+"engine/")]
	p := s.check(path, files)
	s.done[path] = p
	return p, nil
}

func (s *source) check(path string, files []*ast.File) *types.Package {
	config := types.Config{Importer: s, Error: func(error) {}, FakeImportC: true}
	p, _ := config.Check(path, s.fset, files, &s.info) // what is imported from elsewhere is missing, and no matter
	if p.Name() == "" || len(files) == 0 {
		p.SetName(packageName(path))
	}
	p.MarkComplete()
	return p
}

func packageName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// declarations calls do for each function of the engine, named as the runtime names it without type arguments.
func (s *source) declarations(do func(name string, f *ast.FuncDecl)) {
	for dir, files := range s.files {
		for _, file := range files {
			for _, d := range file.Decls {
				f, is := d.(*ast.FuncDecl)
				if !is || f.Body == nil {
					continue
				}
				name := "engine/" + dir + "."
				if f.Recv != nil {
					name += receiver(f.Recv.List[0].Type) + "."
				}
				do(name+f.Name.Name, f)
			}
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return "(*" + receiver(e.X) + ")"
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

func (s *source) functions() (names []string) {
	s.declarations(func(name string, _ *ast.FuncDecl) { names = append(names, name) })
	return names
}

// sites finds what each function locks, unlocks, sends to and receives from.
func (s *source) sites() map[string]sitesOf {
	all := map[string]sitesOf{}
	s.declarations(func(name string, f *ast.FuncDecl) {
		var of sitesOf
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if method, is := n.Fun.(*ast.SelectorExpr); is && ofLock(method.Sel.Name) && s.isMutex(method.X) {
					of.locks = append(of.locks, s.field(method.X, name))
				}
			case *ast.SendStmt:
				of.sends = append(of.sends, s.channel(n.Chan)...)
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					of.receives = append(of.receives, s.channel(n.X)...)
				}
			case *ast.RangeStmt:
				of.receives = append(of.receives, s.channel(n.X)...)
			}
			return true
		})
		for _, list := range []*[]string{&of.locks, &of.sends, &of.receives} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if len(of.locks)+len(of.sends)+len(of.receives) > 0 {
			all[name] = of
		}
	})
	return all
}

func ofLock(method string) bool {
	return slices.Contains([]string{"Lock", "Unlock", "RLock", "RUnlock", "TryLock"}, method)
}

func (s *source) isMutex(e ast.Expr) bool {
	of := s.info.TypeOf(e)
	if of == nil {
		return false
	}
	if pointer, is := of.Underlying().(*types.Pointer); is {
		of = pointer.Elem()
	}
	named, is := types.Unalias(of).(*types.Named)
	return is && named.Obj().Pkg() == s.std && strings.HasSuffix(named.Obj().Name(), "Mutex")
}

// channel names a channel that is a field or a variable of a package, and nothing of another.
func (s *source) channel(e ast.Expr) []string {
	of := s.info.TypeOf(e)
	if of == nil {
		return nil
	}
	if _, is := of.Underlying().(*types.Chan); !is {
		return nil
	}
	if selector, is := e.(*ast.SelectorExpr); is && s.info.Selections[selector] != nil {
		return []string{s.field(e, "")}
	}
	if id, is := e.(*ast.Ident); is && s.ofPackage(id) {
		return []string{s.field(e, "")}
	}
	return nil
}

// field names a field by the type that it is in, a variable of a package by that, and one of a function by the function.
func (s *source) field(e ast.Expr, function string) string {
	if id, is := e.(*ast.Ident); is && s.ofPackage(id) {
		return s.info.Uses[id].Pkg().Name() + "." + id.Name
	}
	selector, is := e.(*ast.SelectorExpr)
	if !is || s.info.Selections[selector] == nil {
		if id, is := e.(*ast.Ident); is {
			if of := s.info.Uses[id]; of != nil && of.Pkg() != nil && of.Parent() == of.Pkg().Scope() {
				return of.Pkg().Name() + "." + id.Name
			}
			return short(function) + "." + id.Name
		}
		return short(function)
	}
	of := s.info.Selections[selector].Recv()
	if pointer, is := of.Underlying().(*types.Pointer); is {
		of = pointer.Elem()
	}
	if named, is := types.Unalias(of).(*types.Named); is {
		return named.Obj().Pkg().Name() + "." + named.Obj().Name() + "." + selector.Sel.Name
	}
	return short(function) + "." + selector.Sel.Name
}

func (s *source) ofPackage(id *ast.Ident) bool {
	of := s.info.Uses[id]
	return of != nil && of.Pkg() != nil && of.Parent() == of.Pkg().Scope()
}

// table is the Go source of the table.
func table(sites map[string]sitesOf) string {
	var b strings.Builder
	b.WriteString("// Code generated by go test ./profile -run TestNames -rewrite from the engine's source. DO NOT EDIT.\n\npackage profile\n\n")
	b.WriteString("// engineSites are the locks and channels that functions of the engine use.\nvar engineSites = map[string]sitesOf{\n")
	var names []string
	for name := range sites {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		of := sites[name]
		fmt.Fprintf(&b, "\t%q: {", name)
		comma := ""
		for _, list := range []struct {
			name   string
			fields []string
		}{{"locks", of.locks}, {"sends", of.sends}, {"receives", of.receives}} {
			if len(list.fields) > 0 {
				fmt.Fprintf(&b, "%s%s: %#v", comma, list.name, list.fields)
				comma = ", "
			}
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	source, err := format.Source([]byte(b.String()))
	if err != nil {
		return err.Error()
	}
	return string(source)
}

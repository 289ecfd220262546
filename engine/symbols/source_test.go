package symbols

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// TestUsesAreThoseOfTheSource checks that uses.go matches the current source, including files that
// need a build tag.
func TestUsesAreThoseOfTheSource(t *testing.T) {
	sites := engineSource(t).sites()
	require.Greater(t, len(sites), 50)
	got := table(sites)
	golden.Text(t, "uses.go", got)
	assert.Equal(t, []string{"shard.inbox.mu"}, Uses["engine/shard.(*inbox).put"].Locks)
	assert.Equal(t, []string{"rpc.outbox.mu"}, Uses["engine/rpc.(*outbox).take"].Locks, "of a generic type")
}

// TestSitesOfSource checks that locks and channels are found through types.
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
	assert.Equal(t, map[string]Use{
		"engine/a.(*outer).f": {Locks: []string{"a.Inner.Mu", "a.outer.mu"}, Sends: []string{"a.Inner.Out"}},
		"engine/a.outer.g":    {Receives: []string{"a.between", "a.outer.in"}},
		"engine/a.h":          {Locks: []string{"a.h.mu", "a.one"}, Sends: []string{"a.between"}},
		"engine/b.(*B).f":     {Locks: []string{"a.Inner.Mu"}, Receives: []string{"a.Inner.Out"}},
	}, s.sites())
	assert.ElementsMatch(t, []string{"engine/a.(*outer).f", "engine/a.outer.g", "engine/a.h", "engine/a.none", "engine/b.(*B).f"}, s.functions())
	_, err = readSource(filepath.Join(root, "nowhere"))
	require.Error(t, err)
}

// TestWaitsAreFunctionsOfTheEngine checks that the functions of the engine in Waits exist, except
// those of earlier builds.
func TestWaitsAreFunctionsOfTheEngine(t *testing.T) {
	functions := engineSource(t).functions()
	for _, w := range Waits {
		name, ours := strings.CutPrefix(w.Function, Module)
		if !ours {
			continue
		}
		beginning, _ := strings.CutSuffix(name, "*")
		exists := slices.ContainsFunc(functions, func(f string) bool {
			return strings.HasPrefix(f, beginning) || f == declared(name)
		})
		assert.Equal(t, !w.Former, exists, w.Function)
		assert.NotEmpty(t, w.Why, w.Function)
	}
}

// source is the type-checked source of the engine. Imports from other modules, except sync, have no
// types.
type source struct {
	files map[string][]*ast.File // by folder relative to the engine
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
	return readSource("..")
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
		if _, err := s.Import(Module + "engine/" + dir); err != nil {
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
	files := s.files[strings.TrimPrefix(path, Module+"engine/")]
	p := s.check(path, files)
	s.done[path] = p
	return p, nil
}

func (s *source) check(path string, files []*ast.File) *types.Package {
	config := types.Config{Importer: s, Error: func(error) {}, FakeImportC: true}
	// Ignore the errors of missing imports from other modules.
	p, _ := config.Check(path, s.fset, files, &s.info)
	if p.Name() == "" || len(files) == 0 {
		p.SetName(packageName(path))
	}
	p.MarkComplete()
	return p
}

// declared returns the name of the declared function that contains a function literal.
func declared(name string) string {
	name, _, _ = strings.Cut(name, ".func")
	return name
}

func packageName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// declarations calls do for each function of the engine, named as the runtime names it without type
// arguments.
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

// sites finds the locks and channels that each function uses.
func (s *source) sites() map[string]Use {
	all := map[string]Use{}
	s.declarations(func(name string, f *ast.FuncDecl) {
		var of Use
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if method, is := n.Fun.(*ast.SelectorExpr); is && ofLock(method.Sel.Name) && s.isMutex(method.X) {
					of.Locks = append(of.Locks, s.field(method.X, name))
				}
			case *ast.SendStmt:
				of.Sends = append(of.Sends, s.channel(n.Chan)...)
			case *ast.UnaryExpr:
				if n.Op == token.ARROW {
					of.Receives = append(of.Receives, s.channel(n.X)...)
				}
			case *ast.RangeStmt:
				of.Receives = append(of.Receives, s.channel(n.X)...)
			}
			return true
		})
		for _, list := range []*[]string{&of.Locks, &of.Sends, &of.Receives} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if len(of.Locks)+len(of.Sends)+len(of.Receives) > 0 {
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

// channel returns the name of a channel that is a field or a package variable, and nil for other
// channels.
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

// field returns the name of a field with its type, of a package variable with its package, and of a
// local variable with its function.
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
			return path.Base(function) + "." + id.Name
		}
		return path.Base(function)
	}
	of := s.info.Selections[selector].Recv()
	if pointer, is := of.Underlying().(*types.Pointer); is {
		of = pointer.Elem()
	}
	if named, is := types.Unalias(of).(*types.Named); is {
		return named.Obj().Pkg().Name() + "." + named.Obj().Name() + "." + selector.Sel.Name
	}
	return path.Base(function) + "." + selector.Sel.Name
}

func (s *source) ofPackage(id *ast.Ident) bool {
	of := s.info.Uses[id]
	return of != nil && of.Pkg() != nil && of.Parent() == of.Pkg().Scope()
}

// table returns the Go source of the table.
func table(sites map[string]Use) string {
	var b strings.Builder
	b.WriteString("// Code generated by make golden from the engine's source. DO NOT EDIT.\n\npackage symbols\n\n")
	b.WriteString("// Uses are the locks and channels that the functions of the engine use, by function without Module.\nvar Uses = map[string]Use{\n")
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
		}{{"Locks", of.Locks}, {"Sends", of.Sends}, {"Receives", of.Receives}} {
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

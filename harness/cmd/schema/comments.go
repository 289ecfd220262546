package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// comments contains the comments of the source, which reflection does not provide.
type comments struct {
	types  map[string]string   // comment of a type, by its name
	fields map[string]string   // comment of a field, by "Type.Field"
	values map[string][]string // the string constants of a type, by the type's name
}

func readComments(dir string) (*comments, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	if len(paths) == 0 {
		return nil, fmt.Errorf("there is no source in %s: %w", dir, fs.ErrNotExist)
	}
	c := &comments{types: map[string]string{}, fields: map[string]string{}, values: map[string][]string{}}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				c.add(d)
			}
		}
	}
	return c, nil
}

func (c *comments) add(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			c.addValues(spec)
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = d.Doc
			}
			c.types[spec.Name.Name] = line(doc)
			if s, ok := spec.Type.(*ast.StructType); ok {
				c.addFields(spec.Name.Name, s)
			}
		}
	}
}

// addFields records the comment above a field and the trailing one.
func (c *comments) addFields(of string, s *ast.StructType) {
	for _, f := range s.Fields.List {
		text := strings.TrimSpace(line(f.Doc) + " " + line(f.Comment))
		for _, name := range f.Names {
			c.fields[of+"."+name.Name] = text
		}
	}
}

func (c *comments) addValues(spec *ast.ValueSpec) {
	of, ok := spec.Type.(*ast.Ident)
	if !ok {
		return
	}
	for _, v := range spec.Values {
		literal, ok := v.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		if value, err := strconv.Unquote(literal.Value); err == nil {
			c.values[of.Name] = append(c.values[of.Name], value)
		}
	}
}

func line(group *ast.CommentGroup) string { return strings.Join(strings.Fields(group.Text()), " ") }

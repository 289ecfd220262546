package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// dialect is the JSON Schema version of the schemas.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// node is a JSON Schema, or a part of one. The order of its fields is that of the output.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	ID          string           `json:"$id,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Ref         string           `json:"$ref,omitempty"`
	AnyOf       []*node          `json:"anyOf,omitempty"`
	Type        any              `json:"type,omitempty"` // one name or several
	Format      string           `json:"format,omitempty"`
	Enum        []string         `json:"enum,omitempty"`
	Minimum     *int             `json:"minimum,omitempty"`
	Maximum     *int             `json:"maximum,omitempty"`
	Items       *node            `json:"items,omitempty"`
	MinItems    int              `json:"minItems,omitempty"`
	MaxItems    int              `json:"maxItems,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"`
	Required    []string         `json:"required,omitempty"`
	// Additional is a schema for the values of a map, or false for an object without unknown
	// properties.
	Additional any              `json:"additionalProperties,omitempty"`
	Defs       map[string]*node `json:"$defs,omitempty"`
}

// generator makes the schema of one document.
type generator struct {
	comments *comments
	defs     map[string]*node
}

func newGenerator(c *comments) *generator {
	return &generator{comments: c, defs: map[string]*node{}}
}

// document returns the schema's text. The schema's id contains the version of the results that the
// schema describes. Older results also conform to it.
func (g *generator) document(name, title string, of reflect.Type) ([]byte, error) {
	root, err := g.object(of)
	if err != nil {
		return nil, err
	}
	root.Schema, root.Title, root.Defs = dialect, title, g.defs
	root.ID = fmt.Sprintf("https://github.com/pronybench/prony/schema/v%d/%s.json", result.Version, name)
	if version := root.Properties["version"]; version != nil {
		lowest, highest := 1, result.Version
		version.Minimum, version.Maximum = &lowest, &highest
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	scenarioType = reflect.TypeFor[scenario.Scenario]()
	nothingLess  = 0
)

// of returns the schema of a type's values. nilable is true if nil is written as null and not
// omitted.
func (g *generator) of(t reflect.Type, nilable bool) (*node, error) {
	if t == timeType {
		return &node{Type: "string", Format: "date-time"}, nil
	}
	if t == scenarioType { // the scenario marshals itself, in the form of its file
		return &node{Type: "object"}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return &node{Type: "string", Enum: g.comments.values[t.Name()]}, nil
	case reflect.Bool:
		return &node{Type: "boolean"}, nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return &node{Type: "integer"}, nil
	case reflect.Uint, reflect.Uint64, reflect.Uint32:
		return &node{Type: "integer", Minimum: &nothingLess}, nil
	case reflect.Float64, reflect.Float32:
		return &node{Type: "number"}, nil
	case reflect.Interface:
		return &node{}, nil
	case reflect.Pointer:
		s, err := g.of(t.Elem(), false)
		return orNull(s, nilable), err
	case reflect.Slice:
		items, err := g.of(t.Elem(), true)
		return orNull(&node{Type: "array", Items: items}, nilable), err
	case reflect.Array:
		items, err := g.of(t.Elem(), true)
		return &node{Type: "array", Items: items, MinItems: t.Len(), MaxItems: t.Len()}, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%v: keys of JSON must be strings", t)
		}
		values, err := g.of(t.Elem(), true)
		return orNull(&node{Type: "object", Additional: values}, nilable), err
	case reflect.Struct:
		return g.reference(t)
	default:
		return nil, fmt.Errorf("%v: its JSON form is unknown", t)
	}
}

func orNull(s *node, nilable bool) *node {
	switch {
	case !nilable || s == nil:
		return s
	case s.Ref != "":
		return &node{AnyOf: []*node{s, {Type: "null"}}}
	}
	s.Type = []any{s.Type, "null"}
	return s
}

// reference refers to the definition of a struct, and creates it if needed.
func (g *generator) reference(t reflect.Type) (*node, error) {
	if g.defs[t.Name()] == nil {
		g.defs[t.Name()] = &node{} // recursive types find this definition
		object, err := g.object(t)
		if err != nil {
			return nil, err
		}
		g.defs[t.Name()] = object
	}
	return &node{Ref: "#/$defs/" + t.Name()}, nil
}

// object returns the schema of a struct. The schema requires the fields that are always written,
// except fields with the tag since, which older versions lack.
func (g *generator) object(t reflect.Type) (*node, error) {
	s := &node{Description: g.comments.types[t.Name()], Type: "object", Properties: map[string]*node{}, Additional: false}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous || name == "" {
			return nil, fmt.Errorf("%v.%s has no name in JSON", t, f.Name)
		}
		omitted := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		p, err := g.of(f.Type, !omitted)
		if err != nil {
			return nil, fmt.Errorf("%v.%s: %w", t, f.Name, err)
		}
		p.Description = g.comments.fields[t.Name()+"."+f.Name]
		s.Properties[name] = p
		if !omitted && f.Tag.Get("since") == "" {
			s.Required = append(s.Required, name)
		}
	}
	return s, nil
}

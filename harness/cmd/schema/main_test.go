package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// compiled returns the committed schema of that name.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	return compile(t, committed(t, name))
}

func committed(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", schemaDir, name+".json"))
	require.NoError(t, err)
	return text
}

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("schema.json", document))
	s, err := c.Compile("schema.json")
	require.NoError(t, err)
	return s
}

func instance(t *testing.T, text []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return value
}

// The committed schemas match the current types: after a change of a type, run `make generate`.
func TestSchemasAreUpToDate(t *testing.T) {
	t.Parallel()
	want, err := generate(filepath.Join("..", "..", sourceDir))
	require.NoError(t, err)
	files, err := os.ReadDir(filepath.Join("..", "..", schemaDir))
	require.NoError(t, err)
	require.Len(t, files, len(want))
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".json")
		assert.Equal(t, string(want[f.Name()]), string(committed(t, name)), "%s: run 'make generate'", name)
	}
	dir := t.TempDir()
	require.NoError(t, write(filepath.Join("..", "..", sourceDir), dir))
	for name, text := range want {
		written, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, string(text), string(written))
	}
	require.Error(t, write("nowhere", dir))
}

// Every published result is valid.
func TestStoredResultsAreValid(t *testing.T) {
	t.Parallel()
	paths, err := result.Glob(filepath.Join("..", "..", "..", "reports", "data", "*", result.ResultFile))
	require.NoError(t, err)
	fixture := filepath.Join("..", "..", "report", "testdata", "run", result.ResultFile)
	require.NotEmpty(t, paths)
	s := compiled(t, "result")
	for _, path := range append(paths, fixture) {
		text, err := result.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, s.Validate(instance(t, text)), path)
	}
}

// full fills a value: every field gets a non-zero value.
func full(v reflect.Value, depth int) {
	if v.Type() == timeType {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(map[string]string{"Verdict": "pass", "Better": "higher", "Outcomes": "same"}[v.Type().Name()])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{"name": "full"}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		full(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			full(v.Index(i), depth+1)
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		full(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				full(v.Field(i), depth+1)
			}
		}
	}
}

// Everything that Go writes for the types is valid: with all fields filled, and with zero values.
func TestSchemasHoldWhatGoWrites(t *testing.T) {
	t.Parallel()
	for _, d := range documents {
		s := compiled(t, d.name)
		filled := reflect.New(d.of).Elem()
		full(filled, 0)
		text, err := json.Marshal(filled.Interface())
		require.NoError(t, err)
		assert.NoError(t, s.Validate(instance(t, text)), "%s: %s", d.name, text)

		var object map[string]any
		require.NoError(t, json.Unmarshal(text, &object))
		object["unheard_of"] = 1
		text, err = json.Marshal(object)
		require.NoError(t, err)
		assert.ErrorContains(t, s.Validate(instance(t, text)), "unheard_of", d.name)
	}
}

func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	s := compiled(t, "result")
	for name, spoil := range map[string]func(map[string]any){
		"a version to come":   func(r map[string]any) { r["version"] = result.Version + 1 },
		"no version":          func(r map[string]any) { delete(r, "version") },
		"an unknown verdict":  func(r map[string]any) { r["verdict"] = "fine" },
		"text for a number":   func(r map[string]any) { r["metrics"].(map[string]any)["key"].(map[string]any)["median"] = "NaN" },
		"a time that is none": func(r map[string]any) { r["started"] = "yesterday" },
		"a negative count": func(r map[string]any) {
			r["rounds"].([]any)[0].(map[string]any)["cycles"] = -1
		},
	} {
		filled := reflect.New(reflect.TypeFor[result.Result]()).Elem()
		full(filled, 0)
		filled.FieldByName("Version").SetInt(result.Version)
		text, err := json.Marshal(filled.Interface())
		require.NoError(t, err)
		var r map[string]any
		require.NoError(t, json.Unmarshal(text, &r))
		spoil(r)
		text, err = json.Marshal(r)
		require.NoError(t, err)
		assert.Error(t, s.Validate(instance(t, text)), name)
	}
}

func TestTheVersionIsInTheID(t *testing.T) {
	t.Parallel()
	text := committed(t, "result")
	var head struct {
		ID     string `json:"$id"`
		Schema string `json:"$schema"`
	}
	require.NoError(t, json.Unmarshal(text, &head))
	assert.Equal(t, "https://github.com/pronybench/prony/schema/v4/result.json", head.ID)
	assert.Equal(t, dialect, head.Schema)
}

// A type without a JSON form, or with an unknown one, is an error.
func TestGenerateRefuses(t *testing.T) {
	t.Parallel()
	for _, of := range []any{
		struct {
			F func() `json:"f"`
		}{},
		struct {
			M map[int]string `json:"m"`
		}{},
		struct{ Unnamed string }{},
	} {
		_, err := newGenerator(&comments{}).document("x", "x", reflect.TypeOf(of))
		assert.Error(t, err)
	}
}

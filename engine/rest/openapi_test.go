package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pronybench/prony/engine/queuepb"
)

// describe returns a handler's served OpenAPI description, validated.
func describe(t *testing.T, h http.Handler) (*openapi2.T, *openapi3.T) {
	t.Helper()
	w, in := recorded(http.MethodGet, "/openapi.json", nil)
	h.ServeHTTP(w, in)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, jsonType, w.Header().Get("Content-Type"))
	var two openapi2.T
	require.NoError(t, two.UnmarshalJSON(w.Body.Bytes()))
	three, err := openapi2conv.ToV3(&two)
	require.NoError(t, err)
	require.NoError(t, three.Validate(context.Background()))
	return &two, three
}

// TestOpenAPIDescribesEachPath checks that the description and the routes match.
func TestOpenAPIDescribesEachPath(t *testing.T) {
	for service, h := range newBoth(t, Options{}) {
		two, three := describe(t, h)
		assert.Equal(t, "2.0", two.Swagger)
		assert.NotEmpty(t, two.Info.Title)
		assert.Equal(t, "v1", two.Info.Version)
		bearer := two.SecurityDefinitions["bearer"]
		require.NotNil(t, bearer)
		assert.Equal(t, []string{"apiKey", "header", "Authorization"}, []string{bearer.Type, bearer.In, bearer.Name})
		assert.Equal(t, openapi2.SecurityRequirements{{"bearer": {}}}, two.Security)

		described := map[string]string{}
		for path, item := range three.Paths.Map() {
			for verb, op := range item.Operations() {
				_, method, _ := strings.Cut(op.OperationID, "_")
				described[verb+" "+path] = method
				checkOperation(t, h, verb, path, op)
			}
		}
		assert.Equal(t, contract[service], described)
		for _, r := range h.routes {
			assert.Contains(t, described, r.method+" "+r.path)
			assert.Equal(t, service+described[r.method+" "+r.path], r.rpc)
		}
	}
}

func checkOperation(t *testing.T, h *handler, verb, path string, op *openapi3.Operation) {
	t.Helper()
	assert.NotEmpty(t, op.Summary, path)
	for _, status := range []string{"200", "400", "401", "403", "404", "409", "413", "415", "429", "503", "504", "default"} {
		answer := op.Responses.Value(status)
		if assert.NotNil(t, answer, "%s %s", path, status) && status != "200" {
			assert.Equal(t, "#/components/schemas/rpcStatus", answer.Value.Content.Get(jsonType).Schema.Ref)
		}
	}
	if verb == http.MethodPost {
		assert.NotNil(t, op.RequestBody, path)
		assert.Empty(t, op.Parameters)
		return
	}
	// The handler accepts each parameter, and the message has each.
	for _, r := range h.routes {
		if r.path != path {
			continue
		}
		names := map[string]bool{}
		for _, p := range op.Parameters {
			names[p.Value.Name] = true
			if p.Value.In == "path" {
				assert.Contains(t, path, "{"+p.Value.Name+"}")
			} else {
				assert.NotNil(t, r.parameter(p.Value.Name), "%s %s", path, p.Value.Name)
			}
		}
		for _, name := range fields(r.input, "") {
			assert.True(t, names[name], "%s lacks %s", path, name)
		}
	}
}

// fields returns the paths of a message's fields, including nested ones.
func fields(m protoreflect.MessageDescriptor, prefix string) (out []string) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		name := prefix + string(f.Name())
		if f.Message() != nil {
			out = append(out, fields(f.Message(), name+".")...)
			continue
		}
		out = append(out, name)
	}
	return out
}

// describe31 returns a handler's served OpenAPI 3.1 description, validated.
func describe31(t *testing.T, h http.Handler) *openapi3.T {
	t.Helper()
	w, in := recorded(http.MethodGet, "/openapi-3.1.json", nil)
	h.ServeHTTP(w, in)
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, jsonType, w.Header().Get("Content-Type"))
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	require.NoError(t, err)
	require.True(t, doc.IsOpenAPI31OrLater(), doc.OpenAPI)
	require.NoError(t, doc.Validate(context.Background(), openapi3.EnableSchemaPatternValidation()))
	return doc
}

// TestOpenAPI31SaysTheSame compares the two descriptions of each service: paths, methods,
// parameters, bodies, answers and fields.
func TestOpenAPI31SaysTheSame(t *testing.T) {
	for service, h := range newBoth(t, Options{}) {
		two, converted := describe(t, h)
		three := describe31(t, h)
		assert.Equal(t, two.Info.Title, three.Info.Title)
		assert.Equal(t, two.Info.Description, three.Info.Description)
		assert.Equal(t, openapi3.SecurityRequirements{{"bearer": {}}}, three.Security)
		bearer := three.Components.SecuritySchemes["bearer"].Value
		assert.Equal(t, []string{"http", "bearer"}, []string{bearer.Type, bearer.Scheme})

		require.ElementsMatch(t, slices.Collect(maps.Keys(two.Paths)), three.Paths.InMatchingOrder())
		described := map[string]string{}
		for path, item := range three.Paths.Map() {
			twos := converted.Paths.Value(path).Operations()
			require.Len(t, item.Operations(), len(twos), path)
			for verb, op := range item.Operations() {
				require.Contains(t, twos, verb, path)
				_, method, _ := strings.Cut(op.OperationID, "_")
				described[verb+" "+path] = method
				checkOperation(t, h, verb, path, op)
				assert.Equal(t, callOf(twos[verb]), callOf(op), "%s %s", verb, path)
			}
		}
		assert.Equal(t, contract[service], described)

		require.ElementsMatch(t, slices.Collect(maps.Keys(two.Definitions)), slices.Collect(maps.Keys(three.Components.Schemas)))
		for name, schema := range converted.Components.Schemas {
			assert.Equal(t, fieldsOf(schema), fieldsOf(three.Components.Schemas[name]), name)
		}
	}
}

// callOf returns texts for an operation's parameters, body and answers.
func callOf(op *openapi3.Operation) (out []string) {
	out = append(out, op.OperationID, op.Summary, op.Description)
	for _, p := range op.Parameters {
		out = append(out, fmt.Sprintln("parameter", p.Value.Name, p.Value.In, p.Value.Required, p.Value.Description, typeOf(p.Value.Schema)))
	}
	if op.RequestBody != nil {
		for kind, media := range op.RequestBody.Value.Content {
			out = append(out, fmt.Sprintln("body", kind, op.RequestBody.Value.Required, media.Schema.Ref))
		}
	}
	for status, answer := range op.Responses.Map() {
		for kind, media := range answer.Value.Content {
			out = append(out, fmt.Sprintln("answer", status, kind, *answer.Value.Description, media.Schema.Ref))
		}
	}
	slices.Sort(out)
	return out
}

func fieldsOf(schema *openapi3.SchemaRef) map[string]string {
	out := map[string]string{"": typeOf(schema)}
	for name, p := range schema.Value.Properties {
		out[name] = typeOf(p)
	}
	return out
}

// typeOf returns the type of a field in a form that is the same for both versions.
func typeOf(s *openapi3.SchemaRef) string {
	if s.Ref != "" {
		return s.Ref
	}
	v := s.Value
	format := v.Format
	if v.ContentEncoding == "base64" {
		format = "byte"
	}
	text := fmt.Sprintln(v.Type.Slice(), format, v.Enum, v.Default, v.Description)
	if v.Items != nil {
		text += "of " + typeOf(v.Items)
	}
	if v.AdditionalProperties.Schema != nil {
		text += "with " + typeOf(v.AdditionalProperties.Schema)
	}
	return text
}

// OpenAPI 3.1 also has the descriptions of message fields and the encoding of bytes.
func TestOpenAPI31SaysMore(t *testing.T) {
	said := 0
	for _, h := range newBoth(t, Options{}) {
		w, in := recorded(http.MethodGet, "/openapi.json", nil)
		h.ServeHTTP(w, in)
		var two struct {
			Definitions map[string]struct {
				Properties map[string]struct {
					Ref         string `json:"$ref"`
					Format      string
					Description string
				}
			}
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &two))
		three := describe31(t, h)
		for message, definition := range two.Definitions {
			for field, p := range definition.Properties {
				got := three.Components.Schemas[message].Value.Properties[field]
				switch {
				case p.Ref != "" && p.Description != "":
					said++
					assert.Equal(t, p.Description, got.Value.Description, "%s.%s", message, field)
				case p.Format == "byte":
					said++
					assert.Equal(t, "base64", got.Value.ContentEncoding, "%s.%s", message, field)
				}
			}
		}
	}
	assert.Greater(t, said, 5)
}

// The schemas of OpenAPI 3.1 are JSON schemas, which requests and answers must satisfy.
func TestOpenAPI31DescribesWhatIsSent(t *testing.T) {
	a := serve(t, &fakeQueue{claim: func(context.Context, *queuepb.ClaimRequest) (*queuepb.ClaimResponse, error) {
		return &queuepb.ClaimResponse{Tasks: []*queuepb.Task{{Id: "1", Queue: "q", Payload: []byte("hello"), Token: 1 << 60, Attempt: 1}}}, nil
	}}, Options{})
	three := describe31(t, a.handler)
	claim := three.Paths.Value("/v1/tasks:claim").Post
	valid := func(s *openapi3.SchemaRef, text string) error {
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value))
		return s.Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
	}
	request := claim.RequestBody.Value.Content.Get(jsonType).Schema
	require.NoError(t, valid(request, `{"queues":["q"],"wait_ms":"1000"}`))
	require.Error(t, valid(request, `{"queues":"q"}`))
	answer := a.post("/v1/tasks:claim", `{"queues":["q"]}`)
	require.Equal(t, http.StatusOK, answer.status)
	schema := claim.Responses.Value("200").Value.Content.Get(jsonType).Schema
	require.NoError(t, valid(schema, answer.text))
	require.Error(t, valid(schema, strings.Replace(answer.text, `"1152921504606846976"`, `true`, 1)))
	refused := a.post("/v1/tasks:claim", `{"queue":["q"]}`)
	require.Equal(t, http.StatusBadRequest, refused.status)
	require.NoError(t, valid(claim.Responses.Value("400").Value.Content.Get(jsonType).Schema, refused.text))
}

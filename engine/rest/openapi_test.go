package rest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// describe returns a handler's OpenAPI description as it is served, validated.
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

// TestOpenAPIDescribesEachPath compares the description with the routes, both ways.
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
	for _, status := range []string{"200", "400", "401", "403", "404", "413", "415", "429", "503", "default"} {
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
	// Each parameter is one that the handler takes, and one that the message has.
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
				assert.True(t, r.parameter(p.Value.Name), "%s %s", path, p.Value.Name)
			}
		}
		for _, name := range fields(r.input, "") {
			assert.True(t, names[name], "%s lacks %s", path, name)
		}
	}
}

// fields returns the paths of a message's fields, those of the messages in it included.
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

package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// longest returns the length of the longest array in a decoded value.
func longest(v any) (n int) {
	switch v := v.(type) {
	case []any:
		n = len(v)
		for _, e := range v {
			n = max(n, longest(e))
		}
	case map[string]any:
		for _, e := range v {
			n = max(n, longest(e))
		}
	}
	return n
}

// membersOf returns the number of fields of all objects in a decoded value. An empty object counts as
// one field.
func membersOf(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += membersOf(e)
		}
	case map[string]any:
		n = max(1, len(v))
		for _, e := range v {
			n += membersOf(e)
		}
	}
	return n
}

// elementsOf returns the number of elements of all arrays in a decoded value. An empty array counts
// as one element.
func elementsOf(v any) (n int) {
	switch v := v.(type) {
	case []any:
		n = max(1, len(v))
		for _, e := range v {
			n += elementsOf(e)
		}
	case map[string]any:
		for _, e := range v {
			n += elementsOf(e)
		}
	}
	return n
}

func drawJSON(t *rapid.T, depth int) any {
	text := rapid.StringOf(rapid.SampledFrom([]rune(`a,"\[]{}:é`)))
	kinds := 3
	if depth > 3 {
		kinds = 1
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 1:
		list := make([]any, rapid.IntRange(0, 6).Draw(t, "length"))
		for i := range list {
			list[i] = drawJSON(t, depth+1)
		}
		return list
	case 2:
		object := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "fields") {
			object[text.Draw(t, "key")] = drawJSON(t, depth+1)
		}
		return object
	}
	return text.Draw(t, "text")
}

func TestArraysAreCountedAsTheyAreDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(t, 0)
		text, err := json.Marshal(v)
		require.NoError(t, err)
		itemsMax := rapid.IntRange(1, 5).Draw(t, "max")
		require.Equal(t, longest(v) > itemsMax || membersOf(v) > fieldsMax*itemsMax || elementsOf(v) > elementsMax*itemsMax, checkItems(text, itemsMax) != nil, "%s", text)
	})
}

func TestCountingOfArraysSurvivesAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte(`a,"\[]{}:`))).Draw(t, "text")
		_ = checkItems(text, 1)
	})
	require.NoError(t, checkItems([]byte(strings.Repeat("[", 1<<20)), 1))
}

func TestTooManyItemsAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	a := serve(t, failing(assert.AnError), Options{})
	text := `{"tasks":[` + strings.Repeat("{},", 1<<20) + `{}]}`
	got := a.post("/v1/tasks:enqueue", text)
	assert.Equal(t, http.StatusBadRequest, got.status)
	assert.Equal(t, "tasks", got.field())
	assert.Contains(t, got.Message, "send at most 1000 in one call")

	err := checkItems([]byte(text), 1_000)
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	assert.Less(t, testing.AllocsPerRun(1, func() { _ = checkItems([]byte(text), 1_000) }), 100.0)
}

func TestTooManyHeadersAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	a := serve(t, failing(assert.AnError), Options{})
	var text strings.Builder
	text.WriteString(`{"tasks":[{"headers":{"a":""`)
	for i := range 1 << 20 {
		fmt.Fprintf(&text, `,"%x":""`, i)
	}
	text.WriteString(`}}]}`)
	got := a.post("/v1/tasks:enqueue", text.String())
	assert.Equal(t, http.StatusBadRequest, got.status)
	assert.Contains(t, got.Message, "the body: has more than 64000 fields: send fewer items in one call")
	assert.Less(t, testing.AllocsPerRun(1, func() { _ = checkItems([]byte(text.String()), 1_000) }), 100.0)

	full := `{"queue":"q","headers":{"k":""` + strings.Repeat(`,"k":""`, 31) + `}}`
	require.NoError(t, checkItems([]byte(`{"tasks":[`+full+strings.Repeat(","+full, 999)+`]}`), 1_000))
}

func TestTooManyDependenciesAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	a := serve(t, failing(assert.AnError), Options{})
	task := func(after int) string { return `{"after":[""` + strings.Repeat(`,""`, after-1) + `]}` }
	text := `{"tasks":[` + task(1_000) + strings.Repeat(","+task(1_000), 100) + `]}`
	got := a.post("/v1/tasks:enqueue", text)
	assert.Equal(t, http.StatusBadRequest, got.status)
	assert.Contains(t, got.Message, "the body: has more than 101000 elements of arrays: send fewer items in one call")
	assert.Less(t, testing.AllocsPerRun(1, func() { _ = checkItems([]byte(text), 1_000) }), 100.0)
	require.NoError(t, checkItems([]byte(`{"tasks":[`+task(100)+strings.Repeat(","+task(100), 999)+`]}`), 1_000))
}

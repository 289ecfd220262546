package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func TestMistakesInABodyNameTheField(t *testing.T) {
	called := false
	a := serve(t, &fakeQueue{enqueue: func(context.Context, *queuepb.EnqueueRequest) (*queuepb.EnqueueResponse, error) {
		called = true
		return &queuepb.EnqueueResponse{}, nil
	}}, Options{Range: func(field string) (least, most uint64, ok bool) { return 0, 9, field == "priority" }})
	for body, want := range map[string]struct{ field, message string }{
		`{"tasks":[{"queue":"q"},{"queue":"q","prio":1}]}`: {"tasks[1].prio", `unknown field "prio": GET /openapi.json lists the fields (line 1, column 38, offset 37)`},
		`{"tenants":"t"}`: {"tenants", `unknown field "tenants"`},
		`{"tasks":[{"queue":"q","priority":"high"}]}`:           {"tasks[0].priority", `must be a whole number from 0 to 9, not "high" (line 1, column 35, offset 34)`},
		`{"tasks":[{"priority":-1}]}`:                           {"tasks[0].priority", "must be a whole number from 0 to 9, not -1"},
		`{"tasks":[{"priority":4294967296}]}`:                   {"tasks[0].priority", "not 4294967296"},
		`{"tasks":[{"max_attempts":1.5}]}`:                      {"tasks[0].max_attempts", "must be a whole number from 0 to 4294967295, not 1.5"},
		`{"tasks":[{"maxAttempts":null},{"maxAttempts":true}]}`: {"tasks[1].maxAttempts", "must be a whole number from 0 to 4294967295, not true"},
		`{"tasks":[{"delay_ms":{}}]}`:                           {"tasks[0].delay_ms", "must be a whole number from 0 to 18446744073709551615, not an object"},
		`{"tasks":[{"not_before_ms":[1]}]}`:                     {"tasks[0].not_before_ms", "must be a whole number from -9223372036854775808 to 9223372036854775807, not an array"},
		`{"tasks":[{"backoff":{"initial_ms":"soon"}}]}`:         {"tasks[0].backoff.initial_ms", `not "soon"`},
		`{"tasks":[{"backoff":[1]}]}`:                           {"tasks[0].backoff", "must be an object, not an array"},
		`{"tasks":{"queue":"q"}}`:                               {"tasks", "must be an array, not an object (line 1, column 10, offset 9)"},
		`{"tasks":"q"}`:                                         {"tasks", `must be an array, not "q"`},
		`{"tasks":[{},[]]}`:                                     {"tasks[1]", "must be an object, not an array"},
		`{"tasks":[1]}`:                                         {"tasks[0]", "must be an object, not 1"},
		`{"tasks":[ null ]}`:                                    {"tasks[0]", "must be an object, not null (line 1, column 12, offset 11)"},
		`{"tenant":17}`:                                         {"tenant", "must be a string, not 17"},
		`{"tasks":[{"payload":"%%%"}]}`:                         {"tasks[0].payload", `must be base64: the character '%' at offset 0 of the text is not in the base64 alphabet (line 1, column 22, offset 21)`},
		`{"tasks":[{"headers":"kind"}]}`:                        {"tasks[0].headers", `must be an object, not "kind"`},
		`{"tasks":[{"headers":{"a.b":7}}]}`:                     {"tasks[0].headers.a.b", "must be a string, not 7"},
		`{"tasks":[{"headers":{"a":"","a":""}}]}`:               {"tasks[0].headers.a", `duplicate map key "a"`},
		`{"tasks":[{"payload":7}]}`:                             {"tasks[0].payload", "must be a string in base64, not 7"},
		`{"tenant":"a","tenant":"b"}`:                           {"tenant", `duplicate field "tenant" (line 1, column 15, offset 14)`},
		"{\n \"tenant\": \"grün\",\n \"tasks\": [{\"x\": 1}]}":  {"tasks[0].x", "(line 3, column 13, offset 34)"},
		"{\"tenant\":\"a\xff\"}":                                {"tenant", "the JSON is malformed: invalid UTF-8 (line 1, column 13, offset 12)"},
		`{"tenant":"\ud800"}`:                                   {"tenant", "the JSON is malformed: invalid surrogate pair"},
		`{"tasks":[{"queue":"q"`:                                {"tasks[0].queue", "the JSON is malformed: it ends early (line 1, column 23, offset 22)"},
		`{"tasks":[{"queue":"q"},]}`:                            {"tasks[0]", "the JSON is malformed: invalid character ',' at start of value (line 1, column 24, offset 23)"},
		`{"tasks":[{"queue":"q" "priority":1}]}`:                {"tasks[0].queue", `the JSON is malformed: invalid character '"' after object value (expecting ',' or '}') (line 1, column 24, offset 23)`},
		`{"tasks":[{"queue":"q", 'priority' : 1}]}`:             {"tasks[0].queue", "the JSON is malformed: the name 'priority' must be in double quotes (line 1, column 25, offset 24)"},
		`{"tenant":"` + strings.Repeat("x", 300) + `","tasks":[{"priority":"` + strings.Repeat("y", 3000) + `"}]}`: {"tasks[0].priority", "yyy..."},
	} {
		got := a.post("/v1/tasks:enqueue", body)
		assert.Equal(t, http.StatusBadRequest, got.status, body)
		assert.Equal(t, 3, got.Code, body)
		assert.Equal(t, want.field, got.field(), "%s: %s", body, got.text)
		assert.Contains(t, got.Message, want.message, body)
		assert.True(t, strings.HasPrefix(got.Message, want.field+": "), got.Message)
		assert.Less(t, len(got.text), 1_500, "an error repeats little of the request")
	}
	for body, message := range map[string]string{
		`[]`: "must be an object, not an array", `"x"`: `must be an object, not "x"`, `null`: "must be an object, not null",
		`hello`: "the JSON is malformed: invalid character 'h' at start of value (line 1, column 1, offset 0)",
		`{} {}`: "the JSON is malformed: invalid character '{' after the object (line 1, column 4, offset 3)",
		`{`:     "the JSON is malformed: it ends early (line 1, column 2, offset 1)", `{tenant:1}`: "the JSON is malformed: the name tenant must be in double quotes (line 1, column 2, offset 1)",
		`{ü:1}`:                                "the JSON is malformed: the name ü must be in double quotes (line 1, column 2, offset 1)",
		strings.Repeat(`{"tasks":[`, 2) + "{]": "the JSON is malformed",
	} {
		got := a.post("/v1/tasks:enqueue", body)
		assert.Equal(t, http.StatusBadRequest, got.status, body)
		assert.Contains(t, got.Message, message)
	}
	assert.False(t, called, "the service is not called")
	for _, body := range []string{"", " \n", "{}"} {
		assert.Equal(t, http.StatusOK, a.post("/v1/tasks:enqueue", body).status)
	}
}

func TestMistakesInAQueryNameTheField(t *testing.T) {
	queue := serve(t, &fakeQueue{getTask: func(context.Context, *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
		t.Error("the service received an invalid request")
		return &queuepb.GetTaskResponse{}, nil
	}}, Options{})
	h, err := NewAdmin(adminpb.UnimplementedAdminServiceServer{}, Options{})
	require.NoError(t, err)
	admin := serve(t, &fakeQueue{}, Options{})
	admin.server.Config.Handler = h
	for _, c := range []struct {
		api                  *api
		path, field, message string
	}{
		{queue, "/v1/tasks/a?tenat=t", "tenat", "is not a parameter of this call: GET /openapi.json lists them"},
		{queue, "/v1/tasks/a?id=b", "id", "is not a parameter"},
		{queue, "/v1/tasks/a?tenant=t&tenant=u", "tenant", "occurs 2 times: pass it once"},
		{queue, "/v1/tasks/a?tenant[0]=t", "tenant[0]", "is not a parameter"},
		{queue, "/v1/tasks/a/result?wait_ms=soon", "wait_ms", `must be a whole number from 0 to 18446744073709551615, not "soon"`},
		{queue, "/v1/tasks/a/result?wait_ms=-1", "wait_ms", `"-1"`},
		{queue, "/v1/tasks/a/result?waitMs=", "waitMs", `not ""`},
		{queue, "/v1/tasks/a/result?wait_ms=" + strings.Repeat("9", 5_000), "wait_ms", "999..."},
		{admin, "/v1/tasks?state=GONE", "state", `must be TASK_STATE_READY, TASK_STATE_DELAYED, TASK_STATE_LEASED, TASK_STATE_DONE, TASK_STATE_DEAD or TASK_STATE_WAITING, not "GONE"`},
		{admin, "/v1/tasks?page_size=4294967296", "page_size", "4294967296"},
		{admin, "/v1/dead?filter.reason=AGE", "filter.reason", `"AGE"`},
		{admin, "/v1/dead?filter.died_from_ms=1d", "filter.died_from_ms", `must be a whole number from -9223372036854775808 to`},
		{admin, "/v1/dead?filter=x", "filter", "is not a parameter"},
		{admin, "/v1/dead?filter.reason.x=1", "filter.reason.x", "is not a parameter"},
		{admin, "/v1/dead?filter.nothing=1", "filter.nothing", "is not a parameter"},
	} {
		got := c.api.get(c.path)
		assert.Equal(t, http.StatusBadRequest, got.status, c.path)
		assert.Equal(t, 3, got.Code, c.path)
		assert.Equal(t, c.field, got.field(), "%s: %s", c.path, got.text)
		assert.Contains(t, got.Message, c.message, c.path)
	}
	got := queue.get("/v1/tasks/a?tenant=%zz")
	assert.Equal(t, http.StatusBadRequest, got.status)
	assert.Contains(t, got.Message, "%zz")
	got = queue.post("/v1/tasks:enqueue?tenant=t", "{}")
	assert.Equal(t, http.StatusBadRequest, got.status)
	assert.Contains(t, got.Message, `the query "tenant=t" is not allowed: put the fields into the body`)
}

func TestParametersReachTheService(t *testing.T) {
	got := make(chan *queuepb.GetTaskRequest, 1)
	a := serve(t, &fakeQueue{getTask: func(_ context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
		got <- in
		return &queuepb.GetTaskResponse{}, nil
	}}, Options{})
	for path, id := range map[string]string{
		"abc": "abc", "a%20b": "a b", "a:b": "a:b", "x%2Fresult": "x/result", "%C3%BC": "ü",
	} {
		require.Equal(t, http.StatusOK, a.get("/v1/tasks/"+path+"?tenant=t%2Fu").status, path)
		in := <-got
		assert.Equal(t, id, in.GetId())
		assert.Equal(t, "t/u", in.GetTenant())
	}
}

// A text is refused if and only if protojson refuses it as base64, with the offset of the error.
func TestBase64MistakesAreThoseOfProtojson(t *testing.T) {
	for text, want := range map[string]string{
		"hello world": `the character ' ' at offset 5 of the text is not in the base64 alphabet`,
		"grün":        `the character 'ü' at offset 2 of the text is not in the base64 alphabet`,
		"aGVsb":       "the text ends at offset 5 within a group of 4 characters: was it cut?",
		"aGVs=bG8":    `the padding "=" at offset 4 of the text does not fit its length`,
		"aGVsbG8==":   `the padding "=" at offset 7 of the text does not fit its length`,
		"a-b/":        `the character '/' at offset 3 of the text belongs to the other alphabet: the text mixes + or / with - or _`,
	} {
		assert.Equal(t, "must be base64: "+want, base64Mistake(text), text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("abAB09+/-_= ü"))).Draw(t, "text")
		in, err := json.Marshal(map[string]string{"result": text})
		require.NoError(t, err)
		refused := unmarshalOptions.Unmarshal(in, &queuepb.Completion{})
		require.Equal(t, refused != nil, base64Mistake(text) != "", "%q: %v", text, refused)
	})
}

// TestTheFieldAtAnOffset looks up marked positions in random JSON texts.
func TestTheFieldAtAnOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text bytes.Buffer
		at, path := -1, ""
		space := func() { text.WriteString(rapid.SampledFrom([]string{"", " ", "\n", "\t "}).Draw(t, "space")) }
		var value func(depth int, here string)
		value = func(depth int, here string) {
			space()
			if at < 0 && rapid.IntRange(0, 9).Draw(t, "mark") == 0 {
				at, path = text.Len(), here
			}
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			switch {
			case kind == 0 && depth > 0:
				text.WriteByte('{')
				for i := range rapid.IntRange(0, 3).Draw(t, "fields") {
					if i > 0 {
						text.WriteByte(',')
					}
					space()
					key := fmt.Sprintf("k%d", i)
					text.WriteString(`"` + key + `"`)
					space()
					text.WriteByte(':')
					if here != "" {
						key = here + "." + key
					}
					value(depth-1, key)
				}
				text.WriteByte('}')
			case kind == 1 && depth > 0:
				text.WriteByte('[')
				for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
					if i > 0 {
						text.WriteByte(',')
					}
					value(depth-1, fmt.Sprintf("%s[%d]", here, i))
				}
				text.WriteByte(']')
			default:
				text.WriteString(rapid.SampledFrom([]string{`"üx"`, "17", "null", "true", `""`, "1e400"}).Draw(t, "scalar"))
			}
			space()
		}
		value(4, "")
		require.True(t, json.Valid(text.Bytes()), "%s", text.Bytes())
		if at >= 0 {
			require.Equal(t, clip(path), fieldAt(text.Bytes(), at), "%s at %d", text.Bytes(), at)
		}
	})
}

// FuzzBody sends arbitrary bodies: each answer is JSON, and none is an internal error.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"tasks":[{"queue":"q","payload":"eA=="}]}`, `{"tasks":[{"x":1}]}`, "{\"tenant\":\"\xff\"}", `{"tasks":[[[[[[`, "\x00", `{"a":"` + "\n" + `"}`,
		strings.Repeat("[", 20_000), `{"tasks":[{"backoff":{"initial_ms":1e999}}]}`,
	} {
		f.Add([]byte(seed))
	}
	h, err := NewQueue(&fakeQueue{}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, in := recorded(http.MethodPost, "/v1/tasks:enqueue", data)
		h.ServeHTTP(w, in)
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

package queue

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHeadersAreLimited(t *testing.T) {
	some := func(n int) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprintf("key-%02d", i)] = ""
		}
		return out
	}
	long := strings.Repeat("v", headerValueMax)
	four := map[string]string{"a": long, "b": long, "c": long, "d": long[:headerValueMax-4]}
	beyond := maps.Clone(four)
	beyond["d"] += "v"
	for name, c := range map[string]struct {
		headers        map[string]string
		field, problem string // "" means accepted
	}{
		"none":                         {nil, "", ""},
		"as many as allowed":           {some(32), "", ""},
		"too many":                     {some(33), "headers", "has 33 entries: use at most 32"},
		"all characters of keys":       {map[string]string{"abcdefghijklmnopqrstuvwxyz0123456789-_.": ""}, "", ""},
		"empty key":                    {map[string]string{"": "v"}, "headers", `has an empty key: use 1 to 64 characters of a-z, 0-9 and "-_."`},
		"longest key":                  {map[string]string{strings.Repeat("k", 64): "v"}, "", ""},
		"longer key":                   {map[string]string{strings.Repeat("k", 65): "v"}, "headers", "has a key of 65 bytes: use at most 64"},
		"key with a capital letter":    {map[string]string{"Kind": "v"}, "headers", `has the key "Kind" with the character U+004B 'K' at offset 0: use a-z, 0-9 and "-_."`},
		"key with a bracket":           {map[string]string{"a]": "v"}, "headers", `has the key "a]" with the character U+005D ']' at offset 1`},
		"key beyond ASCII":             {map[string]string{"a\u0085": "v"}, "headers", "with the character U+0085 at offset 1"},
		"key not UTF-8":                {map[string]string{"a\xff": "v"}, "headers", `has the key "a\xff" with the character U+FFFD`},
		"longest value":                {map[string]string{"k": long}, "", ""},
		"longer value":                 {map[string]string{"k": long + "v"}, "headers[k]", "has 1025 bytes: use at most 1024"},
		"value of any text":            {map[string]string{"k": "order 7 €/ü\uFFFD"}, "", ""},
		"value with a control":         {map[string]string{"k": "a\nb"}, "headers[k]", `"a\nb" has the control character U+000A at offset 1: use UTF-8 without control characters`},
		"value not UTF-8":              {map[string]string{"k": "a\xff"}, "headers[k]", "is not valid UTF-8: it has the byte 0xff at offset 1"},
		"as many bytes as allowed":     {four, "", ""},
		"too many bytes":               {beyond, "headers", "has 4097 bytes of keys and values: use at most 4096"},
		"the first key of several bad": {map[string]string{"b": "\n", "a": "\t"}, "headers[a]", "U+0009"},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckHeaders(c.headers)
			if c.field == "" {
				require.Nil(t, err)
				n := NewTask{Payload: []byte("payload")}
				n.AddHeaders(c.headers)
				requireSplit(t, n, c.headers, "payload")
				return
			}
			require.NotNil(t, err)
			assert.Equal(t, c.field, err.Field)
			assert.Contains(t, err.Problem, c.problem)
		})
	}
}

func requireSplit(t require.TestingT, n NewTask, headers map[string]string, payload string) {
	task := Task{HasHeaders: n.HasHeaders, Payload: n.Payload}
	h, rest := task.Split()
	require.Equal(t, payload, string(rest))
	if len(headers) == 0 {
		require.Nil(t, h.Map())
		return
	}
	require.Equal(t, headers, h.Map())
	require.NoError(t, CheckStored(n.Payload))
	require.Equal(t, HeadersBytes(headers), len(n.Payload)-len(payload))
	for key, value := range headers {
		require.Equal(t, value, h.Get(key))
	}
	require.Empty(t, h.Get("missing"))
	last := ""
	for key := range h.All() {
		require.Less(t, last, string(key), "in the order of the keys")
		last = string(key)
	}
}

func drawHeaders(t *rapid.T) map[string]string {
	return rapid.MapOfN(rapid.StringMatching(`[a-z0-9_.-]{1,9}`), rapid.StringMatching(`[ -~é]{0,9}`), 0, 4).Draw(t, "headers")
}

func TestHeadersAreStoredBeforeThePayload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		headers, payload := drawHeaders(t), rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		n := NewTask{Payload: bytes.Clone(payload)}
		n.AddHeaders(headers)
		requireSplit(t, n, headers, string(payload))
	})
}

// A payload without headers is neither copied nor changed.
func TestWithoutHeadersThePayloadIsUnchanged(t *testing.T) {
	payload := []byte("payload")
	n := NewTask{Payload: payload}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		n.AddHeaders(nil)
		task := Task{HasHeaders: n.HasHeaders, Payload: n.Payload}
		if h, rest := task.Split(); h != nil || &rest[0] != &payload[0] || h.Map() != nil {
			t.Fatalf("got %q and %q", h, rest)
		}
	}))
	require.Zero(t, HeadersBytes(nil))
	h, rest := (&Task{HasHeaders: true}).Split()
	require.True(t, h == nil && rest == nil, "a task whose payload is not in memory")
}

// Damaged headers are found, whatever their bytes.
func TestDamagedHeadersAreFound(t *testing.T) {
	n := NewTask{}
	n.AddHeaders(map[string]string{"kind": "welcome", "trace": "7f3a"})
	for cut := range len(n.Payload) {
		require.ErrorIs(t, CheckStored(n.Payload[:cut]), errHeaders, "%d bytes", cut)
	}
	require.ErrorIs(t, CheckStored([]byte{0, 0, 'p'}), errHeaders, "no headers")
	rapid.Check(t, func(t *rapid.T) {
		stored := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "stored")
		if len(stored) > 1 {
			stored[0] = 0
		}
		if CheckStored(stored) == nil {
			task := Task{HasHeaders: true, Payload: stored}
			h, payload := task.Split()
			n := headersHead
			for key, value := range h.All() {
				n += headerHead + len(key) + len(value)
			}
			require.Equal(t, len(stored)-len(payload), n)
		}
	})
}

// Headers are charged to the tenant like the payload.
func TestHeadersAreCharged(t *testing.T) {
	f, a := withQuota(t, 10)
	f.fill("a", 1, func(n *NewTask) { n.Payload = []byte("payload") })
	before := a.bytes
	headers := map[string]string{"kind": "welcome", "trace": "7f3a"}
	f.fill("a", 1, func(n *NewTask) {
		n.Payload = []byte("payload")
		n.AddHeaders(headers)
	})
	assert.Equal(t, TaskBytes(len("payload")+HeadersBytes(headers)), a.bytes-before)
}

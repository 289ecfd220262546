package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// form replaces varying digits in a JSON value: in numbers, in strings of digits, and in ids.
func form(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = form(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = form(e)
		}
		return out
	case float64:
		return "a number"
	case string:
		if v != "" && strings.Trim(v, "-0123456789") == "" {
			return "digits in a text"
		}
	}
	return v
}

// A command prints the same JSON as the same call over REST: field names, enum values, numbers and
// strings.
func TestDocumentsHaveTheFormOfREST(t *testing.T) {
	p := start(t, "--durability", "none", "--data", t.TempDir(), "--http", "127.0.0.1:0")
	token := p.token()
	s := newShell(t, "QUEUED_SERVER="+p.Listen[0], "QUEUED_ADMIN_SERVER="+p.Admin, "QUEUED_TOKEN="+token)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	send := func(method, url, body string) (value any) {
		t.Helper()
		in, err := http.NewRequestWithContext(t.Context(), method, "http://"+url, strings.NewReader(body))
		require.NoError(t, err)
		in.Header.Set("Authorization", "Bearer "+token)
		in.Header.Set("Content-Type", "application/json")
		out, err := client.Do(in)
		require.NoError(t, err)
		text, err := io.ReadAll(out.Body)
		require.NoError(t, errors.Join(err, out.Body.Close()))
		require.Equal(t, http.StatusOK, out.StatusCode, "%s", text)
		require.NoError(t, json.Unmarshal(text, &value))
		return value
	}
	s.ok("queues", "configure", "q", "--placement", "ordered", "--lease", "5m")
	var enqueued struct{ ID string }
	s.json(&enqueued, "enqueue", "--queue", "q", "hello", "--max-attempts", "1", "--result-retention", "1h")
	id := enqueued.ID
	compare := func(method, url, body string, args ...string) {
		t.Helper()
		var printed any
		s.json(&printed, args...)
		assert.Equal(t, form(send(method, url, body)), form(printed), "%v", args)
	}
	queue, admin := p.HTTP, p.Admin
	compare(http.MethodGet, queue+"/v1/tasks/"+id, "", "task", id)
	overREST := send(http.MethodPost, queue+"/v1/tasks:claim", `{"queues":["q"]}`)
	leased := overREST.(map[string]any)["tasks"].([]any)[0].(map[string]any)["token"].(string)
	s.ok("release", id, leased)
	var printed any
	s.json(&printed, "claim", "--queue", "q")
	assert.Equal(t, form(overREST), form(printed), "claim")

	compare(http.MethodGet, admin+"/v1/tasks?queue=q&state=TASK_STATE_LEASED", "", "tasks", "list", "--queue", "q", "--state", "leased")
	compare(http.MethodGet, admin+"/v1/queues", "", "queues", "list")
	compare(http.MethodGet, admin+"/v1/queues:get?queue=q", "", "queues", "show", "q")
	lease := printed.(map[string]any)["tasks"].([]any)[0].(map[string]any)["token"].(string)
	s.ok("fail", id, lease, "--error", "no such mailbox")
	s.json(&enqueued, "enqueue", "--queue", "done", "hello", "--result-retention", "1h")
	var done claimed
	s.json(&done, "claim", "--queue", "done")
	require.Len(t, done.Tasks, 1)
	s.ok("complete", enqueued.ID, done.Tasks[0].Token, "--result", "sent")
	compare(http.MethodGet, queue+"/v1/tasks/"+enqueued.ID+"/result", "", "result", enqueued.ID)
	compare(http.MethodGet, admin+"/v1/dead?queue=q", "", "dead", "list", "--queue", "q")
	s.ok("tenants", "configure", "acme", "--tasks-max", "10")
	compare(http.MethodGet, admin+"/v1/tenants", "", "tenants", "list")
	compare(http.MethodGet, admin+"/v1/tokens", "", "tenants", "tokens", "list")
	compare(http.MethodGet, admin+"/v1/status", "", "status")
	compare(http.MethodGet, admin+"/v1/cluster", "", "cluster", "status")
}

package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
)

// restCalls calls one listener with one access token.
type restCalls struct {
	*testing.T

	address, secret string
	transport       *http.Transport
}

func (r *restCalls) send(method, path, body string) (int, string) {
	r.Helper()
	in, err := http.NewRequestWithContext(context.Background(), method, "http://"+r.address+path, bytes.NewBufferString(body))
	require.NoError(r, err)
	in.Header.Set("Content-Type", "application/json")
	if r.secret != "" {
		in.Header.Set("Authorization", "Bearer "+r.secret)
	}
	out, err := r.transport.RoundTrip(in)
	require.NoError(r, err)
	text, err := io.ReadAll(out.Body)
	require.NoError(r, errors.Join(err, out.Body.Close()))
	return out.StatusCode, string(text)
}

// paths returns the paths in the listener's OpenAPI description, with an ID for each path
// parameter.
func (r *restCalls) paths() (calls [][2]string) {
	r.Helper()
	code, text := r.send(http.MethodGet, "/openapi.json", "")
	require.Equal(r, http.StatusOK, code)
	var description struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	require.NoError(r, json.Unmarshal([]byte(text), &description))
	require.NotEmpty(r, description.Paths)
	id := queue.ID{Ref: queue.Ref{Queue: 1, Seq: 1}}.String()
	for path, methods := range description.Paths {
		for method := range methods {
			calls = append(calls, [2]string{strings.ToUpper(method), strings.ReplaceAll(path, "{id}", id)})
		}
	}
	return calls
}

// for1 makes a call for a tenant other than t0.
func (r *restCalls) for1(method, path string) (int, string) {
	r.Helper()
	if method == http.MethodGet {
		return r.send(method, path+"?tenant=t1", "")
	}
	return r.send(method, path, `{"tenant":"t1"}`)
}

// Each path of both listeners requires a token and its scope.
func TestEachRESTCallNeedsATokenAndItsScope(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), func(c *Config) { c.HTTP = "127.0.0.1:0" })
	secret := func(scopes access.Scopes) string {
		_, secret, err := n.registry.CreateToken(context.Background(), access.Everybody(), access.NewToken{Tenant: "t0", Scopes: scopes})
		require.NoError(t, err)
		return secret
	}
	nameNoTenant := map[string]bool{ // calls without a tenant: operator calls and calls by token ID
		"/v1/tenants": true, "/v1/tenants:configure": true, "/v1/backup": true, "/v1/status": true, "/v1/tokens:rotate": true, "/v1/tokens:revoke": true,
		"/v1/cluster": true, "/v1/cluster:add": true, "/v1/cluster:remove": true, "/v1/cluster:promote": true, "/v1/cluster:demote": true,
		"/v1/cluster:transfer": true, "/v1/cluster:snapshot": true, "/v1/routes": true,
	}
	for _, listener := range []struct {
		address string
		scopes  access.Scopes // scopes that its calls never need
	}{
		{n.HTTP(), access.Admin},
		{n.Admin(), access.Produce | access.Work},
	} {
		r := &restCalls{T: t, address: listener.address, transport: &http.Transport{DisableKeepAlives: true}}
		calls := r.paths()
		other, all := secret(listener.scopes), secret(access.AllScopes)
		for _, c := range calls {
			method, path := c[0], c[1]
			for _, r.secret = range []string{"", "nonsense", all[1:]} {
				code, text := r.send(method, path, "{}")
				assert.Equal(t, http.StatusUnauthorized, code, "%s %s: %s", method, path, text)
				assert.Contains(t, text, `"code":16`, "%s %s", method, path)
			}
			r.secret = other
			body := "{}"
			if method == http.MethodGet {
				body = ""
			}
			code, text := r.send(method, path, body)
			if path == "/v1/routes" { // every client may ask for routes
				assert.Equal(t, http.StatusOK, code, text)
			} else {
				assert.Equal(t, http.StatusForbidden, code, "%s %s: %s", method, path, text)
			}
			if r.secret = all; !nameNoTenant[path] {
				code, text = r.for1(method, path)
				assert.Equal(t, http.StatusForbidden, code, "%s %s for another tenant: %s", method, path, text)
			}
		}
	}
}

func TestRESTCallsAreForTheTokensTenant(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), func(c *Config) { c.HTTP = "127.0.0.1:0" })
	_, secret, err := n.registry.CreateToken(context.Background(), access.Everybody(), access.NewToken{Tenant: "t0", Scopes: access.AllScopes})
	require.NoError(t, err)
	r := &restCalls{T: t, address: n.HTTP(), secret: secret, transport: &http.Transport{DisableKeepAlives: true}}
	code, text := r.send(http.MethodPost, "/v1/tasks:enqueue", `{"tasks":[{"queue":"q"}]}`)
	require.Equal(t, http.StatusOK, code, text)
	code, text = r.send(http.MethodPost, "/v1/tasks:claim", `{"queues":["q"]}`)
	require.Equal(t, http.StatusOK, code, text)
	assert.Contains(t, text, `"tenant":"t0"`)
}

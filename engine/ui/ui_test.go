package ui

import (
	"context"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
)

// The headers are in every answer, also in refusals and files.
func TestEveryAnswerIsProtected(t *testing.T) {
	s := newSite(t, nil)
	for _, path := range []string{Root, loginPath, assetsRoot + "style.css", Root + "nothing"} {
		got := s.send(http.MethodGet, path, nil).Header()
		policy := got.Get("Content-Security-Policy")
		assert.True(t, strings.HasPrefix(policy, "default-src 'none'; "), path)
		assert.Contains(t, policy, "frame-ancestors 'none'")
		assert.Contains(t, policy, "base-uri 'none'")
		assert.Contains(t, policy, "form-action 'self'")
		assert.NotContains(t, policy, "unsafe")
		assert.NotContains(t, policy, "http")
		assert.Equal(t, "nosniff", got.Get("X-Content-Type-Options"))
		assert.Equal(t, "DENY", got.Get("X-Frame-Options"))
		assert.Equal(t, "same-origin", got.Get("Referrer-Policy"))
		if !strings.HasPrefix(path, assetsRoot) {
			assert.Equal(t, "no-store", got.Get("Cache-Control"), path)
		}
	}
}

func TestAFormOfAnotherOriginIsRefused(t *testing.T) {
	s := newSite(t, nil)
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	form := s.form()
	for _, headers := range [][]string{
		{"Origin: http://evil.example"},
		{"Origin: http://127.0.0.1:7072"},
		{"Origin: null"},
		{"Origin: "},
		{"Sec-Fetch-Site: cross-site"},
		{"Sec-Fetch-Site: same-site"},
		{"Sec-Fetch-Site: none", "Origin: "},
	} {
		for _, path := range []string{loginPath, logoutPath} {
			w := s.send(http.MethodPost, path, url.Values{"form": {form}, "token": {"x"}}, headers...)
			assert.Equal(t, http.StatusForbidden, w.Code, "%v %s", headers, path)
			assert.Contains(t, w.Body.String(), "does not come from a page of this server")
		}
	}
	assert.Len(t, s.handler.sessions.all, 1)
	assert.Empty(t, s.handler.failedSignIns.of)
	redirected(t, s.send(http.MethodPost, logoutPath, url.Values{"form": {form}}, "Sec-Fetch-Site: same-origin", "Origin: "), "/ui/login")
}

func TestAFormNeedsTheSessionsValue(t *testing.T) {
	s := newSite(t, nil)
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	mine, cookies := s.form(), s.cookies
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	other := s.form()
	assert.NotEqual(t, mine, other)
	s.cookies = cookies
	for _, form := range []string{"", "x", other} {
		w := s.send(http.MethodPost, logoutPath, url.Values{"form": {form}})
		assert.Equal(t, http.StatusForbidden, w.Code)
	}
	w := s.send(http.MethodPost, logoutPath+"?form="+mine, nil)
	assert.Equal(t, http.StatusForbidden, w.Code, "the value must be in the body, not in the address")
	s.get(Root)
}

func TestOnlyTheMethodsOfAPathAreAccepted(t *testing.T) {
	s := newSite(t, nil)
	s.signIn(access.AllTenants, access.AllScopes, "yes")
	assert.Equal(t, http.StatusMethodNotAllowed, s.send(http.MethodGet, logoutPath, nil).Code)
	assert.Equal(t, http.StatusMethodNotAllowed, s.send(http.MethodDelete, Root, nil).Code)
	assert.Equal(t, http.StatusNotFound, s.send(http.MethodGet, Root+"nothing", nil).Code)
	assert.Equal(t, http.StatusNotFound, s.send(http.MethodGet, assetsRoot+"layout.html", nil).Code, "templates are not served")
}

func TestFormsAreLimited(t *testing.T) {
	s := newSite(t, nil)
	w := s.send(http.MethodPost, loginPath, url.Values{"token": {strings.Repeat("x", formBytesMax)}})
	assert.Equal(t, http.StatusBadRequest, w.Code)
}

func TestConcurrentRequestsAreLimited(t *testing.T) {
	s := newSite(t, nil)
	for range callsMax {
		s.handler.calls <- struct{}{}
	}
	w := s.send(http.MethodGet, loginPath, nil)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	<-s.handler.calls
	s.get(loginPath)
	assert.Len(t, s.handler.calls, callsMax-1)
}

func TestBytesOfAnswersAreCounted(t *testing.T) {
	var most, now int
	s := newSite(t, func(o *Options) {
		o.Holds = func(_ context.Context, bytes int) {
			now += bytes
			most = max(most, now)
		}
	})
	s.signIn(access.AllTenants, access.AllScopes, "")
	assert.Equal(t, len(s.get(Root)), most)
	assert.Zero(t, now)
}

func TestARefusedCallIsAPage(t *testing.T) {
	s := newSite(t, nil)
	s.signIn("acme", access.Produce, "yes")
	w := s.send(http.MethodGet, Root, nil)
	assert.Equal(t, http.StatusForbidden, w.Code)
	assert.Contains(t, w.Body.String(), "has none of the scopes")
	s.signIn("acme", access.Admin, "")
	s.admin.err = status.Error(codes.Unavailable, "no leader <b>")
	w = s.send(http.MethodGet, Root, nil)
	assert.Equal(t, http.StatusServiceUnavailable, w.Code)
	assert.Contains(t, w.Body.String(), "no leader &lt;b&gt;")
}

// A tag of markup in any text is shown, not interpreted.
func TestTextsAreEscaped(t *testing.T) {
	s := newSite(t, nil)
	s.admin.queues = []*adminpb.Queue{{Tenant: "<i>", Queue: `"><script>`}}
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "?prefix=" + url.QueryEscape(`"><script>`))
	assert.NotContains(t, text, "<i>")
	assert.NotContains(t, text, `"><script>`)
}

// The policy forbids inline scripts and styles, so a page with one would not work.
func TestPagesHaveNothingInline(t *testing.T) {
	files, err := assets.ReadDir("assets")
	require.NoError(t, err)
	for _, f := range files {
		text, err := assets.ReadFile("assets/" + f.Name())
		require.NoError(t, err)
		assert.NotContains(t, string(text), "<style", f.Name())
		assert.NotContains(t, string(text), " style=", f.Name())
		assert.NotContains(t, string(text), " onclick=", f.Name())
		assert.NotContains(t, string(text), "innerHTML", f.Name())
		assert.NotContains(t, strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""), "http", f.Name())
	}
}

// embeddedMax limits the bytes of all files of the page in the binary.
const embeddedMax = 300_000

func TestTheFilesAreSmall(t *testing.T) {
	total := 0
	require.NoError(t, fs.WalkDir(assets, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := assets.ReadFile(path)
		total += len(text)
		return err
	}))
	assert.Greater(t, total, embeddedMax/100)
	assert.LessOrEqual(t, total, embeddedMax)
}

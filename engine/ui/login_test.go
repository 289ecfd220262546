package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/access"
)

func TestAPageNeedsASession(t *testing.T) {
	s := newSite(t, nil)
	redirected(t, s.send(http.MethodGet, Root, nil), "/ui/login")
	redirected(t, s.send(http.MethodGet, Root+"?tenant=a&prefix=b", nil), "/ui/login?next=%2Fui%2F%3Ftenant%3Da%26prefix%3Db")
	redirected(t, s.send(http.MethodPost, logoutPath, nil), "/ui/login")
	_, secret := s.token(access.AllTenants, access.AllScopes)
	redirected(t, s.send(http.MethodGet, Root, nil, "Authorization: Bearer "+secret), "/ui/login")
	assert.Empty(t, s.admin.calls)
}

func TestSigningInWithAToken(t *testing.T) {
	s := newSite(t, nil)
	_, secret := s.token(access.AllTenants, access.AllScopes)
	assert.NotContains(t, s.get(loginPath), secret)
	w := s.send(http.MethodPost, loginPath, url.Values{"token": {" " + secret + "\n"}, "next": {"/ui/?tenant=a"}})
	redirected(t, w, "/ui/?tenant=a")
	cookie := w.Result().Cookies()[0]
	assert.True(t, cookie.HttpOnly)
	assert.False(t, cookie.Secure)
	assert.Equal(t, http.SameSiteStrictMode, cookie.SameSite)
	assert.Equal(t, Root, cookie.Path)
	assert.Equal(t, "prony-ui-7071", cookie.Name)
	assert.NotContains(t, cookie.Value, secret)
	assert.NotContains(t, s.get(Root), secret)
	assert.Equal(t, []string{"Bearer " + secret}, s.admin.secret, "calls at other nodes have the token")
}

func TestACookieOfATLSListenerIsSecure(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Secure = true })
	s.signIn(access.AllTenants, access.AllScopes, "")
	cookie := s.cookies[0]
	assert.True(t, cookie.Secure)
	assert.Equal(t, "/", cookie.Path)
	assert.Equal(t, "__Host-prony-ui-7071", cookie.Name)
	s.get(Root)
}

func TestABadTokenOpensNoSession(t *testing.T) {
	s := newSite(t, nil)
	for _, token := range []string{"", "x", "prony_aaaaaaaaaaaaaaaa_" + strings.Repeat("a", 43)} {
		w := s.send(http.MethodPost, loginPath, url.Values{"token": {token}})
		assert.Contains(t, []int{http.StatusBadRequest, http.StatusUnauthorized}, w.Code)
		assert.Empty(t, w.Result().Cookies())
	}
	s.cookies = []*http.Cookie{{Name: "prony-ui-7071", Value: "invented"}}
	redirected(t, s.send(http.MethodGet, Root, nil), "/ui/login")
}

// A page that the user must see after signing in is always a page of this handler.
func TestSigningInStaysOnTheSite(t *testing.T) {
	for _, next := range []string{"", "https://evil.example/ui/", "//evil.example/ui/", "/v1/queues", "/ui/../v1", "javascript:alert(1)", "/ui/login?next=x", "\\\\evil.example"} {
		at := nextOf(next)
		assert.True(t, strings.HasPrefix(at, Root), "%s: %s", next, at)
		assert.NotContains(t, at, "evil", next)
	}
	assert.Equal(t, "/ui/dead?tenant=a", nextOf("/ui/dead?tenant=a"))
}

func TestFailedAttemptsAreLimited(t *testing.T) {
	s := newSite(t, nil)
	_, secret := s.token(access.AllTenants, access.AllScopes)
	for range signInsMax {
		assert.Equal(t, http.StatusUnauthorized, s.send(http.MethodPost, loginPath, url.Values{"token": {"x"}}).Code)
	}
	w := s.send(http.MethodPost, loginPath, url.Values{"token": {secret}})
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "61", w.Header().Get("Retry-After"))
	s.now = s.now.Add(signInsTime)
	redirected(t, s.send(http.MethodPost, loginPath, url.Values{"token": {secret}}), Root)
}

func TestAddressesOfFailuresAreLimited(t *testing.T) {
	now := time.UnixMilli(0)
	f := newFailedSignIns(func() time.Time { return now })
	for i := range 3 * addressesMax {
		f.add(fmt.Sprint(i))
	}
	assert.LessOrEqual(t, len(f.of), addressesMax+1)
	assert.Positive(t, f.wait("another"), "further addresses share a limit")
	assert.Zero(t, f.wait("0"))
	now = now.Add(signInsTime)
	f.add("another")
	assert.Len(t, f.of, 1)
}

func TestARevokedTokenEndsItsSessions(t *testing.T) {
	s := newSite(t, nil)
	id, secret := s.token(access.AllTenants, access.AllScopes)
	redirected(t, s.send(http.MethodPost, loginPath, url.Values{"token": {secret}}), Root)
	s.get(Root)
	require.NoError(t, s.registry.RevokeToken(t.Context(), access.Everybody(), id))
	redirected(t, s.send(http.MethodGet, Root, nil), "/ui/login")
	assert.Empty(t, s.handler.sessions.all)
}

func TestASessionEnds(t *testing.T) {
	s := newSite(t, nil)
	s.signIn(access.AllTenants, access.AllScopes, "")
	s.now = s.now.Add(sessionMax - time.Second)
	form := s.form()
	cookies := s.cookies
	redirected(t, s.send(http.MethodPost, logoutPath, url.Values{"form": {form}}), "/ui/login")
	assert.Empty(t, s.cookies)
	s.cookies = cookies
	redirected(t, s.send(http.MethodGet, Root, nil), "/ui/login")

	s.signIn(access.AllTenants, access.AllScopes, "")
	s.now = s.now.Add(sessionMax)
	redirected(t, s.send(http.MethodGet, Root, nil), "/ui/login")
}

func TestSessionsAreLimited(t *testing.T) {
	now := time.UnixMilli(0)
	s := newSessions(func() time.Time { return now })
	next := func(secret string) string {
		now = now.Add(time.Millisecond)
		return s.begin(secret, false)
	}
	first := next("a")
	for range tokenSessionsMax {
		next("a")
	}
	assert.Len(t, s.all, tokenSessionsMax)
	assert.Nil(t, s.find(first))
	first = next("first")
	for i := range 2 * sessionsMax {
		next(fmt.Sprint(i))
	}
	assert.Len(t, s.all, sessionsMax)
	assert.Nil(t, s.find(first))
	now = now.Add(sessionMax)
	next("a")
	assert.Len(t, s.all, 1)
}

func TestWithoutTokensTheUserSignsInWithoutOne(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Open = true })
	redirected(t, s.send(http.MethodGet, Root, nil), "/ui/login")
	assert.NotContains(t, s.get(loginPath), `name="token"`)
	redirected(t, s.send(http.MethodPost, loginPath, url.Values{"changes": {"yes"}}), Root)
	assert.Contains(t, s.get(Root), "all tenants, changes allowed")
	assert.Equal(t, http.StatusOK, s.send(http.MethodGet, Root, nil, "Authorization: Bearer x").Code)
	assert.Empty(t, s.admin.secret, "calls at other nodes have no header of the browser")
}

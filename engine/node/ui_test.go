package node

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/rpc/call"
)

func TestThePageForOperatorsIsOnTheAdminListener(t *testing.T) {
	n, _ := openAuth(t, t.TempDir(), func(c *Config) { c.HTTP, c.UI = "127.0.0.1:0", true })
	at := "http://" + n.Admin() + "/ui/"
	get := func(headers map[string]string) (int, string) {
		return sent(t, &http.Transport{}, http.MethodGet, at, "", headers)
	}
	status, _ := get(nil)
	assert.Equal(t, http.StatusSeeOther, status)
	for _, headers := range []map[string]string{{"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}} {
		status, text := get(headers)
		assert.Equal(t, http.StatusForbidden, status, "%v: %s", headers, text)
	}

	form := url.Values{"token": {secretOf(t, n)}}.Encode()
	in, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"login", strings.NewReader(form))
	require.NoError(t, err)
	in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	in.Header.Set("Origin", "http://"+n.Admin())
	out, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(in)
	require.NoError(t, err)
	require.NoError(t, out.Body.Close())
	require.Len(t, out.Cookies(), 1, "%v", out.Status)
	status, text := get(map[string]string{"Cookie": out.Cookies()[0].Name + "=" + out.Cookies()[0].Value})
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "<h1>Queues</h1>")

	status, _ = sent(t, &http.Transport{}, http.MethodGet, "http://"+n.HTTP()+"/ui/", "", nil)
	assert.Equal(t, http.StatusNotFound, status, "not on the listener for clients")
	off, _ := openAuth(t, t.TempDir(), nil)
	status, _ = sent(t, &http.Transport{}, http.MethodGet, "http://"+off.Admin()+"/ui/", "", nil)
	assert.Equal(t, http.StatusNotFound, status, "switched off")
}

// A listener beyond loopback accepts every Host of calls with a token. The page has cookies instead.
func TestThePageForOperatorsKnowsItsHosts(t *testing.T) {
	n := &Node{auth: call.NoAuth(), adminAt: listenerAt{at: &net.TCPAddr{IP: net.IPv6unspecified, Port: 7071}}}
	status := func(c Config, host string) int {
		w := httptest.NewRecorder()
		n.newUI(fakeAdmin{}, c).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/ui/login", nil))
		return w.Code
	}
	assert.Equal(t, http.StatusForbidden, status(Config{Auth: true}, "queue.example"))
	assert.Equal(t, http.StatusOK, status(Config{Auth: true}, "192.0.2.1:7071"))
	assert.Equal(t, http.StatusOK, status(Config{Auth: true, AllowedHosts: []string{"queue.example"}}, "queue.example:7071"))
	assert.Equal(t, http.StatusOK, status(Config{Auth: true, AllowedHosts: []string{"*"}}, "queue.example"))
}

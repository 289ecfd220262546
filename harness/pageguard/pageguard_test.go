package pageguard_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/pageguard"
)

func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	loopback, beyond := &net.TCPAddr{IP: net.IPv6loopback, Port: 9100}, &net.TCPAddr{IP: net.IPv4zero, Port: 9100}
	for _, c := range []struct {
		at           net.Addr
		host, origin string
		refused      string // the header
	}{
		{loopback, "localhost:9100", "", ""},
		{loopback, "LOCALHOST", "", ""},
		{loopback, "127.0.0.1:9100", "http://127.0.0.1:9100", ""},
		{loopback, "[::1]:9100", "", ""},
		{loopback, "[::1]", "", ""},
		{loopback, "192.0.2.7:80", "", ""},
		{loopback, "", "", ""},
		{loopback, "evil.example", "", "Host"},
		{loopback, "localhost.evil.example:9100", "", "Host"},
		{loopback, "evil.example:9100", "http://evil.example:9100", "Host"},
		{loopback, "127.0.0.1:9100", "http://evil.example", "Origin"},
		{loopback, "127.0.0.1:9100", "http://127.0.0.1:8080", "Origin"},
		{loopback, "127.0.0.1:9100", "null", "Origin"},
		{beyond, "bench.example:9100", "", ""},
		{beyond, "bench.example:9100", "http://evil.example", "Origin"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		pageguard.Handler(c.at, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if c.refused == "" {
			assert.Equal(t, http.StatusOK, w.Code, "%+v", c)
			continue
		}
		assert.Equal(t, http.StatusForbidden, w.Code, "%+v", c)
		assert.Contains(t, w.Body.String(), "The header "+c.refused+" is")
		assert.Contains(t, w.Body.String(), ": open http://"+c.at.String()+"/.")
	}
}

package node

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/storage"
)

// sent sends a request with the given headers, including Host, and returns the answer.
func sent(t *testing.T, transport *http.Transport, method, url, body string, headers map[string]string) (int, string) {
	t.Helper()
	in, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		in.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		in.Header.Set(name, value)
	}
	in.Host = headers["Host"] // "": the host of the URL
	transport.DisableKeepAlives = true
	out, err := transport.RoundTrip(in)
	require.NoError(t, err)
	text, err := io.ReadAll(out.Body)
	require.NoError(t, errors.Join(err, out.Body.Close()))
	return out.StatusCode, string(text)
}

func openFor(t *testing.T, change func(*Config)) *Node {
	t.Helper()
	c := Config{DataDir: t.TempDir(), Listen: []string{"127.0.0.1:0"}, HTTP: "127.0.0.1:0", Admin: "127.0.0.1:0", Durability: storage.None}
	change(&c)
	n, err := Open(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
		defer cancel()
		require.NoError(t, n.Shutdown(ctx))
	})
	return n
}

// No path of a listener on loopback answers a page of another site, with and without access tokens.
func TestPagesOfOtherSitesAreRefused(t *testing.T) {
	for name, auth := range map[string]bool{"open": false, "with tokens": true} {
		t.Run(name, func(t *testing.T) {
			n := openFor(t, func(c *Config) { c.Auth = auth })
			for _, headers := range []map[string]string{
				{"Host": "evil.example", "Origin": "http://evil.example"},
				{"Host": "evil.example:7072"},
				{"Origin": "http://evil.example"},
				{"Sec-Fetch-Site": "cross-site"},
			} {
				for _, call := range [][3]string{
					{http.MethodPost, n.HTTP(), "/v1/tasks:enqueue"},
					{http.MethodOptions, n.HTTP(), "/v1/tasks:enqueue"},
					{http.MethodGet, n.HTTP(), "/openapi.json"},
					{http.MethodGet, n.HTTP(), "/nothing"},
					{http.MethodGet, n.Admin(), "/livez"},
					{http.MethodGet, n.Admin(), "/readyz"},
					{http.MethodGet, n.Admin(), "/metrics"},
					{http.MethodGet, n.Admin(), "/audit"},
					{http.MethodGet, n.Admin(), "/v1/queues"},
					{http.MethodGet, n.Admin(), "/debug/pprof/heap"},
					{http.MethodPost, n.Admin(), "/debug/cpu/start"},
				} {
					body := ""
					if call[0] == http.MethodPost && call[1] == n.HTTP() {
						body = `{"tasks":[{"queue":"q"}]}`
					}
					status, text := sent(t, &http.Transport{}, call[0], "http://"+call[1]+call[2], body, headers)
					require.Equal(t, http.StatusForbidden, status, "%v %v: %s", call, headers, text)
					var answer struct{ Message string }
					require.NoError(t, json.Unmarshal([]byte(text), &answer))
					assert.Contains(t, answer.Message, "the header ")
				}
			}
			status, _ := sent(t, &http.Transport{}, http.MethodGet, "http://"+n.Admin()+"/metrics", "", nil)
			assert.Equal(t, http.StatusOK, status)
		})
	}
}

type listenerAt struct {
	net.Listener

	at net.Addr
}

func (l listenerAt) Addr() net.Addr { return l.at }

func TestWhichHostsAreAccepted(t *testing.T) {
	self, err := os.Hostname()
	require.NoError(t, err)
	loopback, beyond := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7071}, &net.TCPAddr{IP: net.IPv6unspecified, Port: 7071}
	open, tokens := Config{}, Config{Auth: true}
	named := Config{
		Listen: []string{"unix:/x", "grpc.example:1"}, HTTP: "rest.example:2", Admin: "admin.example:3",
		Cluster: cluster.Config{Node: "n1", Advertise: "n1.example:4", Peers: map[string]string{"n1": "proxy.example:5", "n2": "n2.example:5"}},
	}
	allowed := Config{Auth: true, AllowedHosts: []string{"Queue.Example", "2001:db8::1"}}
	every := Config{AllowedHosts: []string{"*"}}
	for _, c := range []struct {
		config  Config
		at      net.Addr
		headers string // NAME VALUE, separated by commas
		refused string // the header that is refused, or ""
	}{
		{open, loopback, "Host localhost:7071", ""},
		{open, loopback, "Host LocalHost.", ""},
		{open, loopback, "Host queued.localhost:7071", ""},
		{open, loopback, "Host 127.0.0.1:7071", ""},
		{open, loopback, "Host 127.9.9.9", ""},
		{open, loopback, "Host [::1]:7071", ""},
		{open, loopback, "Host [::1]", ""},
		{open, loopback, "Host 192.0.2.1:80", ""},
		{open, loopback, "Host " + self, ""},
		{open, loopback, "", ""},
		{open, loopback, "Host evil.example", "Host"},
		{open, loopback, "Host localhost.evil.example", "Host"},
		{open, loopback, "Host 127.0.0.1.evil.example:7071", "Host"},
		{open, loopback, "Host evil.example,Origin http://evil.example", "Host"},
		{open, loopback, "Host localhost:7071,Origin http://localhost:7071", ""},
		{open, loopback, "Host localhost:7071,Origin http://LOCALHOST:7071", ""},
		{open, loopback, "Host localhost:7071,Origin http://localhost:3000", "Origin"},
		{open, loopback, "Host localhost:7071,Origin null", "Origin"},
		{open, loopback, "Host localhost:7071,Origin ://", "Origin"},
		{open, loopback, "Host localhost,Sec-Fetch-Site same-origin", ""},
		{open, loopback, "Host localhost,Sec-Fetch-Site none", ""},
		{open, loopback, "Host localhost,Sec-Fetch-Site same-site", "Sec-Fetch-Site"},
		{open, loopback, "Host localhost,Sec-Fetch-Site cross-site,Sec-Fetch-Mode no-cors,Sec-Fetch-Dest image", "Sec-Fetch-Site"},
		{open, loopback, "Host localhost,Sec-Fetch-Site cross-site,Sec-Fetch-Mode navigate,Sec-Fetch-Dest iframe", "Sec-Fetch-Site"},
		{open, loopback, "Host localhost,Sec-Fetch-Site cross-site,Sec-Fetch-Mode navigate,Sec-Fetch-Dest document", ""},

		{open, beyond, "Host evil.example", "Host"},
		{tokens, loopback, "Host evil.example", "Host"},
		{tokens, beyond, "Host queue.example", ""},
		{tokens, beyond, "Host queue.example,Origin http://evil.example", "Origin"},

		{named, beyond, "Host grpc.example", ""},
		{named, beyond, "Host rest.example:2", ""},
		{named, beyond, "Host admin.example:9", ""},
		{named, beyond, "Host n1.example", ""},
		{named, beyond, "Host proxy.example", ""},
		{named, beyond, "Host n2.example", "Host"},

		{allowed, loopback, "Host queue.example:443", ""},
		{allowed, beyond, "Host QUEUE.example", ""},
		{allowed, beyond, "Host evil.example", "Host"},
		{allowed, loopback, "Host 127.0.0.1:7071,Origin https://queue.example", ""},
		{allowed, loopback, "Host 127.0.0.1:7071,Origin https://[2001:db8::1]:8443", ""},
		{allowed, loopback, "Host 127.0.0.1:7071,Origin https://queue.example,Sec-Fetch-Site cross-site", ""},
		{allowed, loopback, "Host 127.0.0.1:7071,Origin https://evil.example", "Origin"},
		{every, beyond, "Host evil.example", ""},
		{every, loopback, "Host localhost,Origin http://evil.example", "Origin"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = ""
		for header := range strings.SplitSeq(c.headers, ",") {
			if name, value, _ := strings.Cut(header, " "); name == "Host" {
				r.Host = value
			} else if name != "" {
				r.Header.Set(name, value)
			}
		}
		err := (&Node{}).hostsOf(c.config, listenerAt{at: c.at}).check(r)
		if c.refused == "" {
			assert.NoError(t, err, "%s", c.headers)
		} else {
			assert.ErrorContains(t, err, "the header "+c.refused+" is ", "%s", c.headers)
		}
	}
}

func TestARefusalNamesTheRemedy(t *testing.T) {
	h := (&Node{}).hostsOf(Config{}, listenerAt{at: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}})
	for headers, want := range map[[2]string]string{
		{"evil.example:80", ""}:                    `the header Host is "evil.example:80", which is not a name of this server: use localhost, an IP address or a name of the server, or start the server with --allowed-hosts evil.example`,
		{"localhost", "https://queue.example:443"}: `the header Origin is "https://queue.example:443", which is another site's: to allow its pages, start the server with --allowed-hosts queue.example`,
		{"localhost", "null"}:                      `the header Origin is "null", which is another site's: to allow its pages, start the server with --allowed-hosts and the name`,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = headers[0]
		if headers[1] != "" {
			r.Header.Set("Origin", headers[1])
		}
		require.ErrorContains(t, h.check(r), want)
	}
	long := httptest.NewRequest(http.MethodGet, "/", nil)
	long.Host = strings.Repeat("x", 60_000)
	assert.Less(t, len(h.check(long).Error()), 1_000)
}

func TestNamesOfTheCertificateAreAccepted(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	a.names = []string{"queue.example", "*.pods.example"}
	a.write(files, 1)
	n := openTLS(t, files)
	for host, want := range map[string]int{
		"queue.example": http.StatusOK, "QUEUE.example:7071": http.StatusOK, "a.pods.example": http.StatusOK, "evil.example": http.StatusForbidden,
	} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool(), ServerName: "127.0.0.1"}}
		status, text := sent(t, transport, http.MethodGet, "https://"+n.Admin()+"/livez", "", map[string]string{"Host": host})
		assert.Equal(t, want, status, "%s: %s", host, text)
	}
}

// Pages cannot send gRPC calls, so the server accepts every Host of a gRPC client, but no Origin.
func TestGRPCIsServedUnderEveryName(t *testing.T) {
	n := openFor(t, func(*Config) {})
	admin, err := client.DialAdmin(n.Admin(), grpc.WithAuthority("queue.example"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, admin.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), adminPatience)
	defer cancel()
	_, err = admin.GetStatus(ctx, &adminpb.GetStatusRequest{})
	require.NoError(t, err)
	_, err = admin.GetStatus(metadata.AppendToOutgoingContext(ctx, "origin", "http://evil.example"), &adminpb.GetStatusRequest{})
	require.ErrorContains(t, err, "403")
}

func TestAllowedHostsAreNames(t *testing.T) {
	c := Config{DataDir: "d", Listen: []string{"127.0.0.1:0"}, Durability: storage.None}
	c.AllowedHosts = []string{"queue.example", "10.0.0.1", "::1", "a_b-c", "*"}
	require.NoError(t, c.Check())
	for _, bad := range []string{"", "http://queue.example", "queue.example:80", "*.example", "a b", strings.Repeat("a", 254)} {
		c.AllowedHosts = []string{bad}
		require.ErrorContains(t, c.Check(), "is not a host name", "%q", bad)
	}
}

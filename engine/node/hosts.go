package node

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/rest"
)

// A browser sends requests to this server on behalf of any page that its user visits, even if the
// server listens only on loopback. The Origin header identifies a page of another site. In a
// request without Origin, Sec-Fetch-Site identifies it. An attacker can also make their own host
// name resolve to this server's address (DNS rebinding). The browser then considers the page and
// the server to be the same site, but the Host header contains the attacker's host name.

// everyHost, as an element of Config.AllowedHosts, makes the server accept every Host.
const everyHost = "*"

// hostLenMax is the maximum length of a host name.
const hostLenMax = 253

type hosts struct {
	every   bool // true: accept any Host
	own     []string
	allowed []string
	tls     *certificates // nil without TLS
	flag    string        // the flag with which an operator can allow more hosts
}

// hostsOf returns the hosts that a listener accepts. If authentication is on, a listener that is
// reachable from other hosts accepts every Host, unless AllowedHosts is not empty: clients use
// names that the server does not know, and a page of another site has no access token.
func (n *Node) hostsOf(c Config, l net.Listener) *hosts {
	at, isTCP := l.Addr().(*net.TCPAddr)
	beyond := isTCP && !at.IP.IsLoopback()
	h := &hosts{
		every: beyond && c.Auth && len(c.AllowedHosts) == 0 || slices.Contains(c.AllowedHosts, everyHost),
		tls:   n.tls, flag: "--" + strings.ReplaceAll(allowedHostsPath, "_", "-"),
	}
	for _, name := range c.AllowedHosts {
		h.allowed = append(h.allowed, hostName(name))
	}
	for _, address := range slices.Concat(c.Listen, []string{c.HTTP, c.Admin, c.Cluster.Advertise, c.Cluster.Peers[c.Cluster.Node]}) {
		if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
			h.own = append(h.own, hostName(host))
		}
	}
	if host, err := os.Hostname(); err == nil {
		h.own = append(h.own, hostName(host))
	}
	return h
}

// known returns the same hosts, except that it refuses an unknown Host unless AllowedHosts contains
// everyHost. A page that has cookies needs this.
func (h *hosts) known() *hosts {
	strict := *h
	strict.every = slices.Contains(h.allowed, everyHost)
	return &strict
}

// guard refuses requests that a page of another site may have sent. It accepts all gRPC calls
// without Origin, because pages cannot send such calls.
func (h *hosts) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isGRPC(r) || r.Header.Get("Origin") != "" {
			if err := h.check(r); err != nil {
				rest.WriteError(w, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// check returns the reason to refuse a request, or nil.
func (h *hosts) check(r *http.Request) error {
	if r.Host != "" && !h.accepts(hostName(r.Host)) { // a browser always sends a Host
		return h.refusal("Host", r.Host, "is not a name of this server", hostName(r.Host))
	}
	for _, origin := range r.Header.Values("Origin") {
		at, err := url.Parse(origin)
		if err != nil || at.Host == "" || !strings.EqualFold(at.Host, r.Host) && !slices.Contains(h.allowed, hostName(at.Host)) {
			name := ""
			if err == nil {
				name = hostName(at.Host)
			}
			return h.refusal("Origin", origin, "is another site's", name)
		}
	}
	if r.Header.Get("Origin") != "" {
		return nil
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "" || site == "none" || site == "same-origin":
	// Accept the request if the user has followed a link.
	case r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document":
	default:
		return status.Errorf(codes.PermissionDenied, "the header Sec-Fetch-Site is %.*q, which means a page of another site: open the address in the browser instead", hostLenMax, site)
	}
	return nil
}

// accepts reports whether a Host header may contain the name. It accepts every IP address: DNS
// rebinding needs a name, and a request may have come through a forwarded port of another host.
func (h *hosts) accepts(name string) bool {
	if h.every || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.Contains(h.own, name) || slices.Contains(h.allowed, name) || h.tls != nil && h.tls.named(name)
}

// refusal returns an error with the header, its value and the remedy. name is the host to allow;
// the remedy includes it if it is a valid host name.
func (h *hosts) refusal(header, value, problem, name string) error {
	remedy := fmt.Sprintf("start the server with %s and the name", h.flag)
	if checkHost(name) == nil {
		remedy = fmt.Sprintf("start the server with %s %s", h.flag, name)
	}
	if header == "Host" {
		remedy = "use localhost, an IP address or a name of the server, or " + remedy
	} else {
		remedy = "to allow its pages, " + remedy
	}
	return status.Errorf(codes.PermissionDenied, "the header %s is %.*q, which %s: %s", header, hostLenMax, value, problem, remedy)
}

// hostName normalizes a host for comparison: it removes the port, brackets and final dot, and
// converts to lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// allowedHostsPath is the name of the setting for Config.AllowedHosts.
const allowedHostsPath = "allowed_hosts"

func (c *Config) checkAllowedHosts() (errs []error) {
	for _, name := range c.AllowedHosts {
		if name != everyHost {
			errs = append(errs, checkHost(name))
		}
	}
	return errs
}

func checkHost(name string) error {
	if _, err := netip.ParseAddr(name); err == nil {
		return nil
	}
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
	}
	if name == "" || len(name) > hostLenMax || strings.ContainsFunc(name, other) {
		return setting.Errorf(allowedHostsPath, "write a name without scheme and port, as in queue.example.com, or * for every name",
			"the allowed host %.*q is not a host name", hostLenMax, name)
	}
	return nil
}

func isGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

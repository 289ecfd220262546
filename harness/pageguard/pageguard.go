// Package pageguard prevents pages of other sites from reading the responses of an HTTP server of
// this program.
//
// A browser on this host can send requests to a loopback server on behalf of any page. If the name
// of a site resolves to 127.0.0.1 (DNS rebinding), the header Host of such a request contains that
// name. Otherwise the header Origin contains the name of the site.
package pageguard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// valueMax is the maximum number of bytes of a header value in a refusal.
const valueMax = 253

// Handler passes requests to next, except requests from pages of other sites, which it refuses with
// status 403. A server that does not listen on loopback may be reached by any name, so the Host
// header is then not checked.
func Handler(listensAt net.Addr, next http.Handler) http.Handler {
	tcp, is := listensAt.(*net.TCPAddr)
	anyName := is && !tcp.IP.IsLoopback()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !anyName && r.Host != "" && !local(r.Host) {
			refuse(w, "Host", r.Host, listensAt)
			return
		}
		for _, origin := range r.Header.Values("Origin") {
			if at, err := url.Parse(origin); err != nil || !strings.EqualFold(at.Host, r.Host) {
				refuse(w, "Origin", origin, listensAt)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// local reports whether a Host header is localhost or an address. DNS rebinding requires any other
// name.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

func refuse(w http.ResponseWriter, header, value string, listensAt net.Addr) {
	http.Error(w, fmt.Sprintf("The header %s is %.*q, and this server does not answer other sites: open http://%s/.", header, valueMax, value, listensAt), http.StatusForbidden)
}

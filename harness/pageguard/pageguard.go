// Package pageguard keeps the pages of other sites from reading what an HTTP server of this program serves.
//
// A browser that runs on this host reaches a server on loopback on behalf of any page. A page whose name was pointed at 127.0.0.1 (DNS
// rebinding) could read the answers: it is recognised by the header Host, which has the page's name. Other pages are recognised by the header
// Origin.
package pageguard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// valueMax is how many bytes of a header a refusal repeats.
const valueMax = 253

// Handler answers requests that no page of another site sent, and refuses others with 403. A server that listens beyond loopback may be
// reached under any name.
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

// local reports whether a request was sent to localhost or to an address, which cannot be pointed elsewhere.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	_, err := netip.ParseAddr(host)
	return err == nil || strings.EqualFold(host, "localhost")
}

func refuse(w http.ResponseWriter, header, value string, listensAt net.Addr) {
	http.Error(w, fmt.Sprintf("The header %s is %.*q, and this server answers no other site: open http://%s/.", header, valueMax, value, listensAt), http.StatusForbidden)
}

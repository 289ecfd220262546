package ui

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

var errForeign = errors.New("the request does not come from a page of this server: open the page in the browser and use its form")

// sameOrigin refuses a request that a page of another origin has sent. A browser sends the header
// Sec-Fetch-Site over TLS and to localhost, and Origin with every POST. A request without both is
// refused too: it does not come from a browser, and the REST API serves all other clients.
func sameOrigin(in *http.Request) error {
	site, origins := in.Header.Get("Sec-Fetch-Site"), in.Header.Values("Origin")
	if site == "" && len(origins) == 0 || site != "" && site != "same-origin" {
		return errForeign
	}
	for _, origin := range origins {
		at, err := url.Parse(origin)
		if err != nil || at.Host == "" || !strings.EqualFold(at.Host, in.Host) {
			return errForeign
		}
	}
	return nil
}

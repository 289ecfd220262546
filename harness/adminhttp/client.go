// Package adminhttp calls the HTTP listeners of a server: its health, metrics, audit, profiles and
// membership.
//
// Every call has a timeout and a bound on the answer's size. It uses a separate connection that is
// closed before the call returns, because the server of the next round may get the same port. A
// Client is a value and safe for concurrent use.
package adminhttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
)

// Client calls one listener of a server.
type Client struct {
	Address string // "host:port"
	Token   string // secret of the access token; "" if the server requires none
	// CA is the certificate authority of a listener with TLS; zero for a listener without TLS.
	CA clienttls.CA
}

// URL returns the URL of a path of the listener.
func (c Client) URL(path string) string {
	scheme := "http://"
	if !c.CA.IsZero() {
		scheme = "https://"
	}
	return scheme + c.Address + path
}

// StatusError reports an answer with a status other than 200.
type StatusError struct {
	Code int
	text string
}

func (e StatusError) Error() string { return e.text }

// Get returns the body of the answer to a GET request. The limits are those of Do.
func (c Client) Get(ctx context.Context, path string, timeout time.Duration, bytesMax int64) ([]byte, error) {
	return c.Do(ctx, http.MethodGet, path, nil, timeout, bytesMax)
}

// Do sends a request, whose body is JSON or nil, and returns the body of the answer. It fails if
// the status is not 200, or if the answer takes longer than timeout or exceeds bytesMax. Errors
// contain the method and the URL.
func (c Client) Do(ctx context.Context, method, path string, body []byte, timeout time.Duration, bytesMax int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := c.URL(path)
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	encrypted, err := c.CA.Config()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: encrypted}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err // a *url.Error: it names the method and the URL
	}
	defer func() { _ = response.Body.Close() }() // the body was read or abandoned
	answer, err := io.ReadAll(io.LimitReader(response.Body, bytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, StatusError{Code: response.StatusCode, text: fmt.Sprintf("%s %s: %s: %.200s", method, url, response.Status, answer)}
	}
	if int64(len(answer)) > bytesMax {
		return nil, fmt.Errorf("%s %s: the answer is larger than %d bytes", method, url, bytesMax)
	}
	return answer, nil
}

package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Admin is where a server is asked about itself.
type Admin struct {
	Address string // "host:port"
	Token   string // what it is asked with; "" where it wants none
}

// Authorize makes a request one of the token's.
func (a Admin) Authorize(r *http.Request) {
	if a.Token != "" {
		r.Header.Set("Authorization", "Bearer "+a.Token)
	}
}

// Ask asks for a path of a server's admin listener and returns the body of an answer with status 200. It takes at most
// timeout, and a body above bytesMax is an error. No connection outlives the call: the next round's server may get the port.
func (a Admin) Ask(ctx context.Context, method, path string, timeout time.Duration, bytesMax int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := "http://" + a.Address + path
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	a.Authorize(request)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err // a *url.Error: it names the method and the URL
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	body, err := io.ReadAll(io.LimitReader(response.Body, bytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %s: %.200s", method, url, response.Status, body)
	}
	if int64(len(body)) > bytesMax {
		return nil, fmt.Errorf("%s %s: the answer is larger than %d bytes", method, url, bytesMax)
	}
	return body, nil
}

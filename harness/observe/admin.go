package observe

import (
	"context"
	"fmt"
	"io"
	"net"
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

// get fetches a path of a server's admin listener. It takes at most timeout, and a body above
// bytesMax is an error. No connection outlives the call: the next round's server may get the port.
func get(ctx context.Context, admin Admin, path string, timeout time.Duration, bytesMax int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	url := "http://" + admin.Address + path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	admin.Authorize(request)
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       (&net.Dialer{Timeout: timeout}).DialContext,
	}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err // a *url.Error: it names the method and the URL
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	body, err := io.ReadAll(io.LimitReader(response.Body, bytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("GET %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s: %.200s", url, response.Status, body)
	}
	if int64(len(body)) > bytesMax {
		return nil, fmt.Errorf("GET %s: the answer is larger than %d bytes", url, bytesMax)
	}
	return body, nil
}

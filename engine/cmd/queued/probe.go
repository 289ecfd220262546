package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

func (a serverCommands) probe() *cobra.Command {
	var live bool
	c := &cobra.Command{
		Use:   "probe",
		Short: "Ask a server whether it is ready, for health checks",
		Long: `Asks a server's admin listener whether it is ready to serve, or with --live whether it is alive. It needs no
access token. It ends with 0 if so, with 1 if not, and with 3 if there is no answer. Containers and service
managers without a shell or curl can use it. It asks one server: several addresses are refused.`,
		Example: `  queued probe
  queued probe --live --admin-server 127.0.0.1:7071 --timeout 2s`,
		Args: noArgs,
	}
	c.Flags().BoolVar(&live, "live", false, "ask whether the server is alive, as it also is while it starts or stops")
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, _ []string) error {
		conn.fromEnvironment(c.Flags())
		if n := len(conn.adminServers); n > 1 {
			return usageError{fmt.Errorf("'queued probe' asks one server, but --admin-server or %[2]s has %[1]d addresses: pass --admin-server with one of them", n, envAdminServer)}
		}
		path := "/readyz"
		if live {
			path = "/livez"
		}
		ctx, cancel := conn.bounded(c.Context(), 0)
		defer cancel()
		status, body, err := conn.get(ctx, path)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			return fmt.Errorf("the server answered %s with %d: %s", path, status, body)
		}
		return a.print(members{{"path", path}, {"status", status}, {"answer", body}}, func(t *table) { t.row(body) })
	}
	return c
}

const (
	answerBytesMax = 64 << 10
	headerBytesMax = 64 << 10
)

// get reads a path of the admin listener. It uses TLS if the flags ask for it, and sends no access
// token.
func (c *connection) get(ctx context.Context, path string) (status int, body string, err error) {
	address := c.adminServers[0]
	if err := checkAddress(address); err != nil {
		return 0, "", err
	}
	encrypted, err := c.tlsConfig()
	if err != nil {
		return 0, "", err
	}
	scheme := "http"
	if encrypted != nil {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+address+path, nil)
	if err != nil {
		return 0, "", fmt.Errorf("ask %s: %w", address, err)
	}
	transport := &http.Transport{TLSClientConfig: encrypted, DisableKeepAlives: true, MaxResponseHeaderBytes: headerBytesMax}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return 0, "", err
		}
		return 0, "", c.unreachable(ctx, address, err.Error(), "is it running, and is this its admin listener? Name another with --admin-server")
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, answerBytesMax))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return 0, "", fmt.Errorf("read the answer of %s: %w", address, err)
	}
	// A server answers a plain HTTP request on an HTTPS listener with this status.
	if encrypted == nil && answer.StatusCode == http.StatusBadRequest {
		if reason, remedy := c.obstacle(ctx, address); reason != "" {
			return 0, "", remedied{unreachableError{fmt.Errorf("can't reach the server at %s: %s", address, reason)}, remedy}
		}
	}
	return answer.StatusCode, strings.TrimSpace(string(text)), nil
}

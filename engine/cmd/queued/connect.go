package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/queuepb"
)

// connection contains the values of a command's connection flags.
type connection struct {
	app *app

	servers, adminServers []string // the first server that answers is used
	token, tokenFile      string
	tlsCA                 string
	tlsCert, tlsKey       string
	timeout               time.Duration
	tenant                string
	plaintext             bool
	serverName            string // the expected name in the certificate; "" means the address
	tlsCAFrom             string // the variable that set tlsCA; "" if the flag did
	// data is the folder of the server's own token file; "" means $QUEUED_DATA or ./data.
	data string

	connected atomic.Bool
}

// These variables replace connection flags. The client commands read them; serve does not.
const (
	envServer      = "QUEUED_SERVER"
	envAdminServer = "QUEUED_ADMIN_SERVER"
	envToken       = "QUEUED_TOKEN"
	envTokenFile   = "QUEUED_TOKEN_FILE"
	envTLSCA       = "QUEUED_TLS_CA"
	envData        = "QUEUED_DATA"
)

// clientVariables returns the names of all these variables except QUEUED_DATA, which serve reads
// too.
func clientVariables() []string {
	return []string{envServer, envAdminServer, envToken, envTokenFile, envTLSCA}
}

// systemCA is the value of --tls-ca that selects the system's certificate authorities.
const systemCA = "system"

const defaultTimeout = 10 * time.Second

// connect adds the connection flags to a command. If admin is true, they are for the admin service;
// otherwise they are for the queue service. If tenanted is true, connect also adds --tenant.
func (a *app) connect(c *cobra.Command, admin, tenanted bool) *connection {
	conn := &connection{app: a, timeout: defaultTimeout}
	flags := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	flags.SortFlags = false
	if admin {
		conn.adminServers = []string{"127.0.0.1:7071"}
		flags.Var(&serversValue{to: &conn.adminServers}, "admin-server", "address of the server's admin listener, or $"+envAdminServer+
			"; of several, separated by commas or in repeated flags, the first that answers is used")
	} else {
		conn.servers = []string{"127.0.0.1:7070"}
		flags.Var(&serversValue{to: &conn.servers}, "server", "address of the server: host:port or unix:/path, or $"+envServer+
			"; of several, separated by commas or in repeated flags, the first that answers is used")
	}
	flags.StringVar(&conn.token, "token", "", "access token; avoid it on a shared host, where others see command lines")
	flags.StringVar(&conn.tokenFile, "token-file", "", "file with the access token, or a pattern as in 'data/n?/admin.token': the newest match. Without either: $"+envToken+", $"+envTokenFile+
		", or for a server on this host admin.token in $"+envData+" or ./data")
	flags.BoolVar(&conn.plaintext, "plaintext", false, "send the access token to another host without TLS, although others on the path can read it")
	flags.StringVar(&conn.tlsCA, "tls-ca", "", `use TLS and trust the authorities in this PEM file, or "system", or $`+envTLSCA)
	flags.StringVar(&conn.tlsCert, "tls-cert", "", "PEM file of the client certificate, for mTLS")
	flags.StringVar(&conn.tlsKey, "tls-key", "", "PEM file of the client certificate's key")
	durationFlag(flags, &conn.timeout, "timeout", "how long to wait for the server, in addition to the call's own wait")
	under("Connection", flags)
	c.Flags().SortFlags = false
	if tenanted {
		c.Flags().StringVar(&conn.tenant, "tenant", "", "tenant; empty means the token's")
	}
	c.Flags().AddFlagSet(flags)
	return conn
}

// fromEnvironment reads environment variables. Each sets the value of its flag, unless the command
// line sets the flag.
func (c *connection) fromEnvironment(flags *pflag.FlagSet) {
	for _, v := range []struct {
		flag, env string
		set       func(text string)
	}{
		{"server", envServer, func(text string) { c.servers = splitServers(text) }},
		{"admin-server", envAdminServer, func(text string) { c.adminServers = splitServers(text) }},
		{"tls-ca", envTLSCA, func(text string) { c.tlsCA = text }},
	} {
		if f := flags.Lookup(v.flag); f == nil || f.Changed {
			continue
		}
		if text, set := c.app.variable(v.env); set {
			v.set(text)
			if v.env == envTLSCA {
				c.tlsCAFrom = v.env
			}
		}
	}
}

// secret returns the access token, or "" if the command has none. It reads the server's own token
// file only for a server on this host, because that token has all permissions.
func (c *connection) secret(address string) (string, error) {
	switch {
	case c.token != "" && c.tokenFile != "":
		return "", usageError{errors.New("--token and --token-file are both given: pass one of them")}
	case c.token != "":
		return checkSecret("--token", c.token)
	case c.tokenFile != "":
		return readSecret("--token-file", c.tokenFile)
	}
	if text, set := c.app.variable(envToken); set && text != "" {
		return checkSecret(envToken, text)
	}
	if path, set := c.app.variable(envTokenFile); set && path != "" {
		return readSecret(envTokenFile, path)
	}
	if !client.OnThisHost(address) {
		return "", nil
	}
	data := c.data
	if text, set := c.app.variable(envData); data == "" && set {
		data = text
	}
	if data == "" {
		data = "data"
	}
	path := filepath.Join(data, adminTokenFile)
	// If the file does not exist or is unreadable, continue without a token: the server may not
	// need one.
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // not an error
	}
	secret, err := readSecret("the server's token file", path)
	if errors.Is(err, os.ErrPermission) {
		return "", nil
	}
	return secret, err
}

// adminTokenFile is the name of the file with the server's operator token in its data folder.
const adminTokenFile = "admin.token"

// readSecret reads a token file. Errors use what as the name of the token's source.
func readSecret(what, path string) (string, error) {
	path, err := newest(path)
	if err != nil {
		return "", usageError{noTokenFileError{fmt.Errorf("%s: %w", what, err)}}
	}
	secret, err := client.ReadToken(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", usageError{noTokenFileError{fmt.Errorf("%s: %w", what, err)}}
	}
	return secret, tokenError(what, err)
}

// noTokenFileError means that the token file does not exist. In a cluster, the first leader creates
// the file.
type noTokenFileError struct{ error }

func (e noTokenFileError) Unwrap() error { return e.error }

// newest returns the most recently changed file that matches a pattern. If the pattern is the path
// of an existing file, or contains no wildcard, newest returns it unchanged.
func newest(pattern string) (string, error) {
	if _, err := os.Stat(pattern); err == nil || !strings.ContainsAny(pattern, "*?[") {
		return pattern, nil
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("%q: %w", pattern, err)
	}
	var found string
	var changed time.Time
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(changed) {
			found, changed = file, info.ModTime()
		}
	}
	if found == "" {
		return "", fmt.Errorf("no file matches %s", pattern)
	}
	return found, nil
}

// checkSecret validates a token. Errors use what as the name of the token's source.
func checkSecret(what, text string) (string, error) {
	secret, err := client.ParseToken(text)
	return secret, tokenError(what, err)
}

// tokenError adds the name of a token's source to an error of reading or validating it.
func tokenError(what string, err error) error {
	if err == nil {
		return nil
	}
	return usageError{fmt.Errorf("%s: %w", what, err)}
}

// tlsConfig returns the TLS configuration, or nil if the connection is not encrypted.
func (c *connection) tlsConfig() (*tls.Config, error) {
	if (c.tlsCert == "") != (c.tlsKey == "") {
		return nil, usageError{errors.New("--tls-cert and --tls-key go together: pass both or neither")}
	}
	if c.tlsCA == "" && c.tlsCert == "" {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: c.serverName}
	if c.tlsCA != "" && c.tlsCA != systemCA {
		text, err := os.ReadFile(c.tlsCA)
		if err != nil {
			return nil, usageError{fmt.Errorf("--tls-ca: %w", err)}
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, usageError{fmt.Errorf("--tls-ca: %s has no certificate in PEM", c.tlsCA)}
		}
	}
	if c.tlsCert != "" {
		pair, err := tls.LoadX509KeyPair(c.tlsCert, c.tlsKey)
		if err != nil {
			return nil, usageError{fmt.Errorf("--tls-cert, --tls-key: %w", err)}
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// bearer sends an access token with each call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity returns false because servers on loopback and on Unix sockets do not use
// TLS.
func (bearer) RequireTransportSecurity() bool { return false }

func (c *connection) options(address string) ([]grpc.DialOption, error) {
	if err := checkAddress(address); err != nil {
		return nil, err
	}
	secret, err := c.secret(address)
	if err != nil {
		return nil, err
	}
	encrypted, err := c.tlsConfig()
	if err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if encrypted != nil {
		transport = credentials.NewTLS(encrypted)
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport), grpc.WithStatsHandler((*watch)(c))}
	if secret != "" && encrypted == nil && !c.plaintext && !client.OnThisHost(address) {
		return nil, usageError{fmt.Errorf("the access token would go to %s without TLS: pass --tls-ca, or --plaintext to allow it", address)}
	}
	if secret != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(secret)))
	}
	return options, nil
}

func checkAddress(address string) error {
	if path, ok := strings.CutPrefix(address, "unix:"); ok && path != "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
		return usageError{fmt.Errorf("%q is not a server address: write host:port or unix:/path", address)}
	}
	return nil
}

func (c *connection) queueService(cmd *cobra.Command, call func(ctx context.Context, api queuepb.QueueServiceClient) error) error {
	c.fromEnvironment(cmd.Flags())
	address, options, err := c.choose(cmd.Context(), c.servers)
	if err != nil {
		return err
	}
	// Disable retries: a command must report an unreachable server immediately.
	server, err := client.Dial(address, append(options, client.WithRetryMax(0))...)
	if err != nil {
		return err
	}
	return errors.Join(c.explain(cmd.Context(), address, call(cmd.Context(), server.API())), server.Close())
}

// messageBytesMax limits the bytes of an answer. It is large because a page of tasks may contain
// large payloads.
const messageBytesMax = 64 << 20

// adminService runs call with a client of the admin service and a context that ends after the
// timeout.
func (c *connection) adminService(cmd *cobra.Command, call func(ctx context.Context, api adminpb.AdminServiceClient) error) error {
	c.fromEnvironment(cmd.Flags())
	return c.withAdmin(cmd.Context(), call)
}

func (c *connection) withAdmin(ctx context.Context, call func(ctx context.Context, api adminpb.AdminServiceClient) error) error {
	address, options, err := c.choose(ctx, c.adminServers)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(dialTarget(address), append(options, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax)))...)
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	limited, cancel := c.bounded(ctx, 0)
	defer cancel()
	return errors.Join(c.explain(ctx, address, call(limited, adminpb.NewAdminServiceClient(conn))), conn.Close())
}

// watch records whether a connection was established. Method explain reads this.
type watch connection

func (*watch) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (*watch) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*watch) HandleConn(context.Context, stats.ConnStats)                       {}

// HandleRPC observes when the header of a call is sent. This is only possible after the handshake
// with the server.
func (w *watch) HandleRPC(_ context.Context, s stats.RPCStats) {
	if _, sent := s.(*stats.OutHeader); sent {
		w.connected.Store(true)
	}
}

// bounded returns ctx with a timeout. The timeout is the connection's timeout plus waits, the time
// that the call may wait at the server.
func (c *connection) bounded(ctx context.Context, waits time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, waits+c.timeout)
}

// unreachableError means that a server cannot be reached.
type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

// explain returns an unreachableError if no server was reached. If the server was too slow, it
// returns an error with a remedy. It returns a refusal by the server unchanged.
func (c *connection) explain(ctx context.Context, address string, err error) error {
	s := statusOf(err)
	if s == nil {
		return err
	}
	// This is the deadline of the command, not a refusal by the server.
	late := s.Code() == codes.DeadlineExceeded && strings.Contains(s.Message(), context.DeadlineExceeded.Error())
	if late && c.connected.Load() {
		return remedied{
			timeoutError{err, fmt.Sprintf("the server at %s did not answer within %s", address, config.FormatDuration(c.timeout))},
			"pass a longer --timeout; the call may have taken effect, or may still do so",
		}
	}
	if s.Code() != codes.Unavailable && !late || refusesToLead(s) {
		return err
	}
	why := reason(s.Message())
	if late {
		why = "it did not answer within " + config.FormatDuration(c.timeout)
	}
	return c.unreachable(ctx, address, why, "is it running? Start it with 'queued serve', or name another address with --server or --admin-server")
}

// unreachable returns the error of a server that cannot be reached, with a reason and a remedy. If
// TLS is the cause, the reason and remedy of method obstacle replace the given ones.
func (c *connection) unreachable(ctx context.Context, address, reason, remedy string) error {
	if !c.connected.Load() {
		if obstacle, help := c.obstacle(ctx, address); obstacle != "" {
			reason, remedy = obstacle, help
		}
	}
	return remedied{unreachableError{fmt.Errorf("can't reach the server at %s: %s", address, reason)}, remedy}
}

// reason removes gRPC's prefixes from the error text of a failed connection.
func reason(message string) string {
	for _, wrap := range []string{"connection error: desc = ", "transport: ", "Error while dialing: "} {
		if inner, wrapped := strings.CutPrefix(message, wrap); wrapped {
			message = inner
		}
		if inner, err := strconv.Unquote(message); err == nil {
			message = inner
		}
	}
	return message
}

package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/internal/tlscheck"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
)

// askMax limits the wait for a listener's answer.
const askMax = 3 * time.Second

// ports checks that each listener's address is either free or used by a queued that answers. It
// returns true if a queued answered at any of them.
func (r *report) ports(ctx context.Context, c *node.Config) (answered bool) {
	secure, mutual := c.TLS.CertFile != "", c.TLS.ClientCAFile != ""
	for _, address := range c.Listen {
		secure := secure && !strings.HasPrefix(address, "unix:") // Unix sockets are not encrypted
		answered = r.port(ctx, "listen", address, secure, mutual, func(ctx context.Context) error { return askQueue(ctx, address, secure) }) || answered
	}
	if c.HTTP != "" {
		answered = r.port(ctx, "http", c.HTTP, secure, mutual, func(ctx context.Context) error { return askHTTP(ctx, c.HTTP, "/v1/tasks/doctor", secure, isREST) }) || answered
	}
	if c.Admin != "" {
		answered = r.port(ctx, "admin", c.Admin, secure, mutual, func(ctx context.Context) error { return askHTTP(ctx, c.Admin, "/livez", secure, isAlive) }) || answered
	}
	return answered
}

func (r *report) port(ctx context.Context, check, address string, secure, mutual bool, ask func(context.Context) error) (answered bool) {
	err := free(address)
	if err == nil {
		r.add(check, Fit, address+" is free", "")
		return false
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		r.add(check, Unfit, err.Error(), "choose another address with --"+check)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	if err := ask(ctx); err != nil {
		r.unanswered(ctx, check, address, secure, mutual, err)
		return false
	}
	r.add(check, Fit, address+" is answered by a queued", "")
	return true
}

// unanswered adds the finding for an address that is in use by something other than a queued.
func (r *report) unanswered(ctx context.Context, check, address string, secure, mutual bool, err error) {
	var config *tls.Config
	if secure {
		config = unverified()
	}
	switch f := tlscheck.Look(ctx, Local(address), config); {
	case f.Kind == tlscheck.ServerHasTLS:
		r.add(check, Unfit, address+" is in use by a server that speaks TLS, and this configuration has no certificate",
			"pass the --tls-cert and --tls-key of the running server; clients need --tls-ca")
	case f.Kind == tlscheck.ServerHasNone:
		r.add(check, Unfit, address+" is in use by a server that does not speak TLS, and this configuration has --tls-cert and --tls-key",
			"restart that server with this configuration, or leave out --tls-cert and --tls-key; clients then need no --tls-ca")
	case f.Kind == tlscheck.CertificateMissing && mutual:
		r.add(check, Unknown, address+" is answered over TLS by a server that asks for a client certificate, like --tls-client-ca in this configuration; this command has none",
			"ask it with 'queued status', and a client certificate in --tls-cert and --tls-key")
	case f.Kind == tlscheck.CertificateMissing:
		r.add(check, Unfit, address+" is in use by a server that asks for a client certificate, and this configuration has no --tls-client-ca",
			"pass the --tls-client-ca of the running server; clients need --tls-cert and --tls-key")
	default:
		r.add(check, Unfit, fmt.Sprintf("%s is in use, but not by a queued that answers: %s", address, words(err)), "stop the program that uses it, or choose another address with --"+check)
	}
}

func words(err error) string {
	if s, is := status.FromError(err); is {
		return s.Message()
	}
	return err.Error()
}

// free returns nil if it can listen on the address. A Unix socket without a listener counts as
// free, since the server removes it.
func free(address string) error {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		c, err := net.DialTimeout("unix", path, askMax)
		switch {
		case err == nil:
			return errors.Join(syscall.EADDRINUSE, c.Close())
		case errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED):
			return nil
		}
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// Local returns the address with which this host can connect to a listener.
func Local(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// unverified returns a TLS configuration that accepts any certificate, for probing an address of
// this host. Nothing secret is sent over such a connection.
func unverified() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true} //nolint:gosec // see above
}

func askQueue(ctx context.Context, address string, secure bool) error {
	target, transport := address, insecure.NewCredentials()
	if secure {
		transport = credentials.NewTLS(unverified())
	}
	if !strings.HasPrefix(address, "unix:") {
		target = "passthrough:///" + Local(address)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(transport))
	if err != nil {
		return err
	}
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: queuepb.QueueService_ServiceDesc.ServiceName})
	if status.Code(err) == codes.Unauthenticated || status.Code(err) == codes.PermissionDenied {
		err = nil
	}
	return errors.Join(err, conn.Close())
}

const bodyBytesMax = 4 << 10

func askHTTP(ctx context.Context, address, path string, secure bool, is func(answer *http.Response, body string) bool) (err error) {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+Local(address)+path, nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Transport{TLSClientConfig: unverified(), DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, bodyBytesMax))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if !is(answer, string(body)) {
		return fmt.Errorf("its answer to %s is not a queued's", path)
	}
	return nil
}

// isREST reports whether an answer is that of the REST API to a request for a nonexistent task or
// without a token.
func isREST(answer *http.Response, _ string) bool {
	return answer.StatusCode >= http.StatusBadRequest && strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json")
}

func isAlive(answer *http.Response, body string) bool {
	return answer.StatusCode == http.StatusOK && body == "ok\n"
}

// version checks that the running server is this program. It compares their content, because
// unreleased builds have the same version.
func (r *report) version(ctx context.Context, in *Input, answered bool) {
	const check = "version"
	if !answered || in.ServerProgram == nil {
		r.add(check, Fit, in.Program.String(), "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	running, err := in.ServerProgram(ctx)
	switch {
	case err != nil:
		r.unasked(check, fmt.Sprintf("this is %s; the server does not report its program", in.Program), err)
	case in.Program.Build.Same(running.Build):
		r.add(check, Fit, in.Program.String()+", the same as the running server", "")
	case !in.Program.Build.Known() || !running.Build.Known():
		r.add(check, Unknown, fmt.Sprintf("this is %s, and the running server is %s: the source of at least one is unknown", in.Program, running), "compare the program files")
	default:
		r.add(check, Warning, fmt.Sprintf("this is %s, and the running server is another build, %s", in.Program, running), "restart the server if it was upgraded")
	}
}

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

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
)

// askMax is how long a listener may take to answer.
const askMax = 3 * time.Second

// ports sees that each listener's address is free, or answered by a server of this kind. It reports whether any is
// answered so.
func (r *report) ports(ctx context.Context, c *node.Config) (answered bool) {
	secure := c.TLS.CertFile != ""
	for _, address := range c.Listen {
		answered = r.port(ctx, "listen", address, func(ctx context.Context) error { return askQueue(ctx, address, secure) }) || answered
	}
	if c.HTTP != "" {
		answered = r.port(ctx, "http", c.HTTP, func(ctx context.Context) error { return askHTTP(ctx, c.HTTP, "/v1/tasks/doctor", secure, isREST) }) || answered
	}
	if c.Admin != "" {
		answered = r.port(ctx, "admin", c.Admin, func(ctx context.Context) error { return askHTTP(ctx, c.Admin, "/livez", secure, isAlive) }) || answered
	}
	return answered
}

func (r *report) port(ctx context.Context, check, address string, ask func(context.Context) error) (answered bool) {
	err := free(address)
	if err == nil {
		r.add(check, OK, address+" is free", "")
		return false
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		r.add(check, Problem, err.Error(), "choose another address with --"+check)
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	if err := ask(ctx); err != nil {
		r.add(check, Problem, fmt.Sprintf("%s is in use, and not by a queued that answers: %v", address, err), "stop what uses it, or choose another address with --"+check)
		return false
	}
	r.add(check, OK, address+" is answered by a queued", "")
	return true
}

// free tries to listen. A Unix socket without a listener is free: the server removes it.
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

// Local is how to reach a listener from this host.
func Local(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// unverified is for asking who answers on this host's own address; no secret is sent over it.
func unverified() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true} //nolint:gosec // see above
}

// askQueue asks for the health of the queue service.
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

// isREST knows an answer about a task that does not exist, or that needs a token.
func isREST(answer *http.Response, _ string) bool {
	return answer.StatusCode >= http.StatusBadRequest && strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json")
}

func isAlive(answer *http.Response, body string) bool {
	return answer.StatusCode == http.StatusOK && body == "ok\n"
}

func (r *report) version(ctx context.Context, in *Input, answered bool) {
	const check = "version"
	if !answered || in.ServerVersion == nil {
		r.add(check, OK, in.Version, "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	running, err := in.ServerVersion(ctx)
	switch {
	case err != nil:
		r.add(check, Warning, fmt.Sprintf("this is %s; the server does not tell its own: %v", in.Version, err), "pass an operator's token in QUEUED_TOKEN")
	case running != in.Version:
		r.add(check, Warning, fmt.Sprintf("this is %s, and the server that runs is %s", in.Version, running), "restart the server if it was upgraded")
	default:
		r.add(check, OK, in.Version+", as the server that runs", "")
	}
}

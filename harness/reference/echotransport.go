package reference

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// newEchoServer returns an echo server that uses the transport of a driver. encrypted selects TLS.
func newEchoServer(driver string, encrypted bool) (echoServer, error) {
	var pair tlsPair
	if encrypted {
		var err error
		if pair, err = newTLSPair(); err != nil {
			return nil, err
		}
	}
	switch driver {
	case "stream":
		return newGRPCEcho(true, pair), nil
	case "unary":
		return newGRPCEcho(false, pair), nil
	case "rest":
		return newHTTPEcho(pair), nil
	}
	return nil, fmt.Errorf("driver %q has no transport that an echo can use", driver)
}

const echoMethod = "/prony.reference.Echo/Echo"

// rawCodec passes messages unchanged, because an echo encodes nothing.
type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (rawCodec) Unmarshal(data []byte, v any) error {
	into := v.(*[]byte)
	*into = append((*into)[:0], data...)
	return nil
}

// grpcEcho echoes messages over gRPC: all messages of a stream, or one message per call.
type grpcEcho struct {
	server  *grpc.Server
	clients credentials.TransportCredentials
	stream  bool
}

func newGRPCEcho(stream bool, pair tlsPair) *grpcEcho {
	handle := func(_ any, s grpc.ServerStream) error {
		var message []byte
		for {
			switch err := s.RecvMsg(&message); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if err := s.SendMsg(&message); err != nil {
				return err
			}
		}
	}
	servers, clients := insecure.NewCredentials(), insecure.NewCredentials()
	if pair.server != nil {
		servers, clients = credentials.NewTLS(pair.server), credentials.NewTLS(pair.client)
	}
	return &grpcEcho{stream: stream, clients: clients, server: grpc.NewServer(
		grpc.Creds(servers), grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(handle),
		grpc.MaxConcurrentStreams(callersMax), grpc.MaxRecvMsgSize(echoBytesMax))}
}

const echoBytesMax = 256 << 20

func (e *grpcEcho) serve(l net.Listener) error { return wrap("serve the echo", e.server.Serve(l)) }

func (e *grpcEcho) stop() { e.server.Stop() }

func (e *grpcEcho) dial(_ context.Context, network, address string) (echoConn, error) {
	c, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(e.clients),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		}),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(echoBytesMax)))
	return grpcEchoConn{c, e.stream}, err
}

type grpcEchoConn struct {
	conn   *grpc.ClientConn
	stream bool
}

func (c grpcEchoConn) close() error { return c.conn.Close() }

func (c grpcEchoConn) caller(ctx context.Context) (exchange, error) {
	var reply []byte
	if !c.stream {
		return func(message []byte) error { return c.conn.Invoke(ctx, echoMethod, &message, &reply) }, nil
	}
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, echoMethod)
	if err != nil {
		return nil, err
	}
	return func(message []byte) error {
		if err := s.SendMsg(&message); err != nil {
			return err
		}
		return s.RecvMsg(&reply)
	}, nil
}

type httpEcho struct {
	server *http.Server
	pair   tlsPair
}

func newHTTPEcho(pair tlsPair) *httpEcho {
	return &httpEcho{pair: pair, server: &http.Server{ReadHeaderTimeout: echoGrace, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, echoBytesMax))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_, _ = w.Write(body) // a caller that has disconnected gets its own error
	})}}
}

func (e *httpEcho) serve(l net.Listener) error {
	if e.pair.server != nil {
		l = tls.NewListener(l, e.pair.server)
	}
	if err := e.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return wrap("serve the echo", err)
	}
	return nil
}

// its connections have already ended, so no data is lost
func (e *httpEcho) stop() { _ = e.server.Close() }

func (e *httpEcho) dial(_ context.Context, network, address string) (echoConn, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	url := "http://echo/"
	if e.pair.client != nil {
		url = "https://echo/"
	}
	return httpEchoConn{&http.Transport{MaxIdleConnsPerHost: callersMax, DialContext: dial, TLSClientConfig: e.pair.client}, url}, nil
}

// httpEchoConn has a connection for each of its callers.
type httpEchoConn struct {
	transport *http.Transport
	url       string
}

func (c httpEchoConn) close() error {
	c.transport.CloseIdleConnections()
	return nil
}

func (c httpEchoConn) caller(ctx context.Context) (exchange, error) {
	return func(message []byte) (err error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(message))
		if err != nil {
			return err
		}
		response, err := c.transport.RoundTrip(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		return errors.Join(err, response.Body.Close())
	}, nil
}

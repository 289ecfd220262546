package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// A call waits for a server that restarts. Waiting does not help if the server's certificate does
// not verify, or if the server refuses the client's certificate. gRPC reports both as Unavailable,
// with only the text of the cause. The credentials therefore record the cause, and the peer
// recognizes it in the errors of its calls.

// handshakeError is the error of a call to a peer if either side refused the TLS handshake.
type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return e.cause.Error() }
func (e *handshakeError) Unwrap() error { return e.cause }

func isHandshakeRefused(err error) bool {
	var h *handshakeError
	return errors.As(err, &h)
}

// handshakes records the last handshake with a peer that either side refused.
type handshakes struct{ refused atomic.Pointer[error] }

// failed records a handshake error, unless the connection just broke.
func (h *handshakes) failed(err error) {
	var unverified *tls.CertificateVerificationError
	var plain tls.RecordHeaderError // the server does not use TLS
	var remote *net.OpError
	if errors.As(err, &unverified) || errors.As(err, &plain) || errors.As(err, &remote) && remote.Op == "remote error" {
		h.refused.Store(&err)
	}
}

// explain returns the error of a call, as a handshakeError if a refused handshake is its cause.
func (h *handshakes) explain(err error) error {
	if status.Code(err) != codes.Unavailable {
		return err
	}
	cause := h.refused.Load()
	if cause == nil {
		return err
	}
	quoted := strconv.Quote((*cause).Error()) // in gRPC's form
	if strings.Contains(err.Error(), quoted[1:len(quoted)-1]) {
		return &handshakeError{cause: err}
	}
	return err
}

// tlsOption is the option of WithTLS, which gRPC accepts too.
type tlsOption struct {
	grpc.DialOption

	credentials credentials.TransportCredentials
}

// recording returns the option of a connection whose handshakes are recorded.
func (o tlsOption) recording(h *handshakes) grpc.DialOption {
	return grpc.WithTransportCredentials(recordingCredentials{o.credentials, h})
}

type recordingCredentials struct {
	credentials.TransportCredentials

	handshakes *handshakes
}

// ClientHandshake implements credentials.TransportCredentials.
func (c recordingCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		c.handshakes.failed(err)
		return nil, nil, err
	}
	return &recordingConn{Conn: conn, handshakes: c.handshakes}, info, nil
}

// Clone implements credentials.TransportCredentials.
func (c recordingCredentials) Clone() credentials.TransportCredentials {
	return recordingCredentials{c.TransportCredentials.Clone(), c.handshakes}
}

// recordingConn records the error of its first read. In TLS 1.3 the client's handshake ends before
// the server checks the client's certificate, so the first read returns the server's refusal.
type recordingConn struct {
	net.Conn

	handshakes *handshakes
	read       bool // gRPC reads in one goroutine
}

func (c *recordingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.read {
		c.read = true
		if err != nil {
			c.handshakes.failed(err)
		}
	}
	return n, err
}

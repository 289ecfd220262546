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

// A call waits for a server that restarts. But waiting does not help if the client cannot verify
// the server's certificate, or if the server refuses the client's certificate. gRPC reports all
// these cases as Unavailable, with only the text of the cause. The credentials therefore record the
// cause, and the peer recognizes the cause in the errors of its calls.

// handshakeError is the error of a call to a peer if either side refused the TLS handshake.
type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return e.cause.Error() }
func (e *handshakeError) Unwrap() error { return e.cause }

func isHandshakeRefused(err error) bool {
	var h *handshakeError
	return errors.As(err, &h)
}

// handshakes records the last handshake with a peer that one of the sides refused.
type handshakes struct{ refused atomic.Pointer[error] }

// failed records a handshake error if a side refused the handshake, but not if the connection
// merely broke.
func (h *handshakes) failed(err error) {
	var unverified *tls.CertificateVerificationError
	var plain tls.RecordHeaderError // means that the server does not use TLS
	var remote *net.OpError
	if errors.As(err, &unverified) || errors.As(err, &plain) || errors.As(err, &remote) && remote.Op == "remote error" {
		h.refused.Store(&err)
	}
}

// explain returns the error of a call. If a refused handshake is the cause, the result is a
// handshakeError.
func (h *handshakes) explain(err error) error {
	if status.Code(err) != codes.Unavailable {
		return err
	}
	cause := h.refused.Load()
	if cause == nil {
		return err
	}
	quoted := strconv.Quote((*cause).Error()) // gRPC quotes the cause in its error text
	if strings.Contains(err.Error(), quoted[1:len(quoted)-1]) {
		return &handshakeError{cause: err}
	}
	return err
}

// tlsOption is the option that WithTLS returns. gRPC accepts it too.
type tlsOption struct {
	grpc.DialOption

	credentials credentials.TransportCredentials
}

// recording returns an option that makes h record the refused handshakes of a connection.
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

// recordingConn records the error of its first read. In TLS 1.3, the client's handshake ends before
// the server checks the client's certificate. The first read therefore returns the server's
// refusal.
type recordingConn struct {
	net.Conn

	handshakes *handshakes
	read       bool // true after the first read; only one goroutine of gRPC reads
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

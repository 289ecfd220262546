package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/pronybench/prony/engine/replica/peer/certs"
)

func (m *Mux) serverTLS(ctx context.Context, raw net.Conn) (*tls.Conn, error) {
	own := m.credentials() // read again for each handshake, so that changed files take effect
	c := tls.Server(raw, &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{own.Certificate},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    own.CA,
		// If a dialer resumed a session, it would not present its certificate again.
		SessionTicketsDisabled: true,
		VerifyConnection:       verify(own),
	})
	return c, handshakeTLS(ctx, c, errNothingSent)
}

func (m *Mux) clientTLS(ctx context.Context, raw net.Conn) (*tls.Conn, error) {
	own := m.credentials()
	c := tls.Client(raw, &tls.Config{
		MinVersion:           tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own.Certificate, nil },
		// Certificates name nodes, not hosts. VerifyConnection verifies the chain, and
		// Mux.clientHello verifies the node.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection:   verify(own),
	})
	err := handshakeTLS(ctx, c, errNoAnswer)
	// The listener closed the connection before it had read the whole hello.
	if errors.Is(err, syscall.ECONNRESET) {
		err = fmt.Errorf("%w: %w", errNoAnswer, syscall.ECONNRESET)
	}
	return c, err
}

// verify returns a function that verifies the certificate chain of the other side.
func verify(own *certs.Credentials) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error { return own.Verify(s.PeerCertificates) }
}

// handshakeTLS performs a TLS handshake. If the other side closed the connection, it returns
// closed. If a side rejected the other's certificate, it returns a *RefusedError.
func handshakeTLS(ctx context.Context, c *tls.Conn, closed error) error {
	err := c.HandshakeContext(ctx)
	broken := (*net.OpError)(nil)
	switch notTLS := (tls.RecordHeaderError{}); {
	case err == nil:
		return nil
	case errors.As(err, &notTLS):
		return errNotTLS
	case errors.Is(err, io.EOF):
		return closed
	case isAlert(err):
		return refuseAlert(err)
	// The connection broke, or the handshake timed out.
	case errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) || ctx.Err() != nil:
		return fmt.Errorf("TLS handshake: %w", err)
	}
	return refuse(CodeCertificate, "TLS handshake: %s", err)
}

func isAlert(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "remote error"
}

func refuseAlert(err error) *RefusedError {
	r := refuse(CodeCertificate, "the other node does not accept this node's certificate: %s", err)
	r.Remote = true
	return r
}

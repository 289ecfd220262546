package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// The pauses after a failed accept: the system may be out of file descriptors for a while.
const (
	acceptPause    = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// accept takes connections in until the listener is closed.
func (m *Mux) accept() {
	pause := acceptPause
	for {
		raw, err := m.listener.Accept()
		switch {
		case m.ctx.Err() != nil:
			if err == nil {
				_ = raw.Close() // the mux is closed
			}
			return
		case err != nil:
			m.problems.warn("can't accept a connection of a peer: trying again", "error", err)
			select {
			case <-m.ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, acceptPauseMax)
			continue
		}
		pause = acceptPause
		select {
		case m.slots <- struct{}{}:
			m.running.Go(func() { m.welcome(raw) })
		default:
			m.refused.Add(1)
			m.problems.warn("closed a connection of a peer: too many handshakes are under way", "remote", raw.RemoteAddr().String(), "handshakes_max", m.bounds.handshakes)
			_ = raw.Close() // it was not used
		}
	}
}

// welcome makes the handshake of an incoming connection and hands it to those whom it is for. It runs in a slot, which it
// leaves after the handshake.
func (m *Mux) welcome(raw net.Conn) {
	c := &conn{Conn: raw, raw: raw, mux: m}
	err := m.keep(c)
	if err == nil {
		err = m.receive(c)
	}
	<-m.slots
	if err != nil {
		_ = c.abort() // the handshake's error counts
		m.tellRefused("refused a peer's connection", err, "remote", raw.RemoteAddr().String())
		return
	}
	m.accepted.Add(1)
	if err := c.layer.hand(c); err != nil {
		_ = c.abort() // hand's error counts
		m.tellRefused("dropped a peer's connection", err, "remote", raw.RemoteAddr().String(), "node", c.node, "for", c.layer.place.String())
	}
}

// tellRefused counts and logs a failed handshake, or says nothing when the mux is being closed.
func (m *Mux) tellRefused(what string, err error, about ...any) {
	if m.ctx.Err() != nil {
		return
	}
	m.refused.Add(1)
	if errors.Is(err, errNothingSaid) {
		m.log.Debug(what, append(about, "error", err)...) // a load balancer that looks whether the port is open
		return
	}
	m.problems.tell(what, err, about...)
}

// receive makes the handshake of an incoming connection, which is bounded in time.
func (m *Mux) receive(c *conn) error {
	deadline := time.Now().Add(m.bounds.handshake)
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	a := answerer{mux: m, conn: c.Conn, deadline: deadline}
	if m.server != nil {
		encrypted, err := m.encrypt(c)
		if err != nil {
			return err
		}
		a.conn = encrypted
		if a.binding, err = bind(encrypted.ConnectionState()); err != nil {
			return err
		}
		c.Conn = encrypted
	}
	from, l, err := a.run()
	if err != nil {
		return err
	}
	if err := c.belong(from, l); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// encrypt makes the TLS handshake of an incoming connection and looks at the certificate of who dialed.
func (m *Mux) encrypt(c *conn) (*tls.Conn, error) {
	encrypted := tls.Server(c.Conn, m.server)
	ctx, cancel := context.WithTimeout(m.ctx, m.bounds.handshake)
	defer cancel()
	err := encrypted.HandshakeContext(ctx)
	if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) {
		return nil, errors.New("it does not begin with a TLS handshake: TLS is on here, and must be there")
	}
	if errors.Is(err, io.EOF) {
		return nil, errNothingSaid
	}
	if err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return encrypted, checkState(encrypted.ConnectionState())
}

// checkState refuses what a configuration of TLS must not let through, whichever it is. A node's certificate is one
// for servers: so those that the same authority gave to clients of the queues do not make them nodes.
func checkState(s tls.ConnectionState) error {
	if s.Version != tls.VersionTLS13 {
		return fmt.Errorf("it speaks %s: nodes speak TLS 1.3", tls.VersionName(s.Version))
	}
	if len(s.VerifiedChains) == 0 {
		return errors.New("its certificate was not verified: nodes need certificates of the authority that is configured")
	}
	leaf := s.PeerCertificates[0]
	restricted := len(leaf.ExtKeyUsage)+len(leaf.UnknownExtKeyUsage) > 0
	server := slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) || slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageAny)
	if restricted && !server {
		return fmt.Errorf("the certificate of %q is a client's: a node's is for server and client authentication", leaf.Subject)
	}
	return nil
}

package peer

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"
)

// serverHello performs the listener's part of the handshake that follows TLS. It returns the
// dialing node and the requested layer.
func (m *Mux) serverHello(c *tls.Conn, deadline time.Time) (node string, l *layer, err error) {
	h, refused, err := m.readHello(c)
	if err != nil {
		return "", nil, err
	}
	if refused == nil {
		l, refused = m.checkHello(h, names(c))
	}
	if refused != nil {
		return "", nil, m.refuse(c, deadline, refused)
	}
	if _, err := c.Write(verdict{code: accepted, node: m.node}.frame().raw); err != nil {
		return "", nil, fmt.Errorf("accept node %s: %w", h.from, err)
	}
	return h.from, l, nil
}

func (m *Mux) readHello(c *tls.Conn) (hello, *RefusedError, error) {
	f, err := readFrame(c)
	if err != nil && !errors.Is(err, errMalformed) {
		return hello{}, nil, err
	}
	if err == nil && f.version != version {
		return hello{}, refuse(CodeVersion, "this node speaks version %d of the handshake, but the other one speaks version %d: run compatible releases", version, f.version), nil
	}
	var h hello
	if err == nil {
		h, err = parseHello(f)
	}
	if err != nil {
		return hello{}, refuse(CodeMalformed, "%s", err), nil
	}
	return h, nil, nil
}

func names(c *tls.Conn) []string { return c.ConnectionState().PeerCertificates[0].DNSNames }

// checkHello decides whether to accept a dialer's connection. certified are the nodes that the
// dialer's certificate names.
func (m *Mux) checkHello(h hello, certified []string) (*layer, *RefusedError) {
	if !slices.Contains(certified, h.from) {
		return nil, refuse(CodeCertificate, "the dialer claims to be node %s, but its certificate is for %s", h.from, strings.Join(certified, ", "))
	}
	if h.to != "" && h.to != m.node {
		return nil, refuse(CodeNode, "this is node %s, but node %s dialed node %s: check the addresses of the peers", m.node, h.from, h.to)
	}
	if h.from == m.node && h.instance != m.instance {
		return nil, refuse(CodeDuplicate, "two processes claim to be node %s: each node needs a unique id", m.node)
	}
	l := m.find(h.place)
	if l == nil {
		return nil, refuse(CodePlace, "node %s does not take connections for %s: it is starting or stopping, or its number of shards differs", m.node, h.place)
	}
	return l, nil
}

// refuse sends the reason to the dialer, and waits for a limited time until the dialer has read it.
func (m *Mux) refuse(c *tls.Conn, deadline time.Time, r *RefusedError) error {
	if _, err := c.Write(verdict{code: r.Code, node: m.node, reason: r.Reason}.frame().raw); err != nil {
		return r // the dialer disconnected
	}
	// Read the remaining input first: closing a connection with unread input resets the connection,
	// and the dialer would lose the verdict.
	if c.CloseWrite() == nil && c.SetReadDeadline(earlier(deadline, time.Now().Add(m.bounds.linger))) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c, lingerBytes)) // only the refusal is logged
	}
	return r
}

// lingerBytes is the maximum number of bytes that refuse discards while the dialer reads the
// verdict.
const lingerBytes = 512

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// clientHello performs the dialer's part of the handshake that follows TLS. It returns the node on
// the other side. to is "" if any node is acceptable.
func (m *Mux) clientHello(c *tls.Conn, to string, p place) (node string, err error) {
	if _, err := c.Write(hello{place: p, instance: m.instance, from: m.node, to: to}.frame().raw); err != nil {
		return "", fmt.Errorf("begin the handshake: %w", err)
	}
	f, err := readFrame(c)
	if errors.Is(err, errNothingSent) || errors.Is(err, syscall.ECONNRESET) {
		return "", errNoAnswer
	}
	// With TLS 1.3, the listener verifies the certificate after the dialer has completed its part,
	// so the alert arrives here.
	if isAlert(err) {
		return "", refuseAlert(err)
	}
	if err != nil {
		return "", err
	}
	v, err := parseVerdict(f)
	if err != nil {
		return "", err
	}
	if v.code != accepted {
		return "", &RefusedError{Code: v.code, Reason: v.reason, Remote: true}
	}
	if certified := names(c); !slices.Contains(certified, v.node) {
		return "", refuse(CodeCertificate, "the listener claims to be node %s, but its certificate is for %s", v.node, strings.Join(certified, ", "))
	}
	if to != "" && v.node != to {
		return "", refuse(CodeNode, "found node %s instead of node %s: check the addresses of the peers", v.node, to)
	}
	return v.node, nil
}

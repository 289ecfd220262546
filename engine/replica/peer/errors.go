package peer

import "errors"

// These errors mean that the other side sent no data or invalid data.
var (
	errNothingSent = errors.New("the connection was closed before the handshake began")
	errNoAnswer    = errors.New("the other side closed the connection without an answer: its log says why; it may be stopping, or may not be a node")
	errNotTLS      = errors.New("the other side does not speak TLS: it is not a node, or a node of a version before certificates, which cannot join a cluster with this one")
	errNotPeer     = errors.New("the other side does not begin the handshake of a peer")
	errMalformed   = errors.New("the handshake is malformed")
)

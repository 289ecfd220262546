package peer

import "errors"

// Errors about what the other side sends.
var (
	errNothingSent = errors.New("it was closed before the handshake began")
	errNoAnswer    = errors.New("the other side closed the connection without an answer: its log says why; it may be stopping, or be no node")
	errNotTLS      = errors.New("it does not speak TLS: it is no node, or one of a version before certificates, which cannot be in a cluster with this one")
	errNotPeer     = errors.New("it does not begin the handshake of a peer")
	errMalformed   = errors.New("the handshake is malformed")
)

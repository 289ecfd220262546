package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// The handshake is up to four frames, all before the first byte of the connection's user:
//
//	dialer                                   listener
//	hello: for what, who, whom, nonce  ──▶
//	                                   ◀──   challenge: who, nonce
//	proof                              ──▶
//	                                   ◀──   verdict: accepted with a proof, or refused with a reason
//
// A refusal may come in place of the challenge. A frame is
//
//	magic: 4 bytes | version: 1 | kind: 1 | length of the body: 2, big-endian | body
//
// and the layout of this header and of a verdict is the same in every version, so that nodes of different ones can say so.
//
//	hello     flags: 1 | purpose: 1 | group: 2 | nonce: 32 | instance: 16 | from: text | to: text
//	challenge flags: 1 | nonce: 32 | instance: 16 | node: text
//	proof     32 bytes
//	verdict   code: 1 | proof: 32 | reason: text
//
// A text is its length in one byte, and its bytes.
const (
	magic     = "PrnP"
	version   = 1
	headerLen = 8
	bodyMax   = 248 // so a frame has at most 256 bytes, and each side reads at most two
	nonceLen  = 32
	proofLen  = 32
	reasonMax = 200
)

const (
	kindHello     = 'h'
	kindChallenge = 'c'
	kindProof     = 'p'
	kindVerdict   = 'v'
)

// flagSecret says that the sender has a secret.
const flagSecret = 1

type (
	nonce    [nonceLen]byte
	instance [16]byte // which process a node is: no two have the same
	proof    [proofLen]byte
)

// Errors about frames.
var (
	errNothingSaid = errors.New("it was closed before the handshake began")
	errNoAnswer    = errors.New("the other side closed the connection without an answer: its log says why; it may be stopping, have TLS on, or be no node")
	errNotPeer     = errors.New("what it says is no handshake of a peer")
	errMalformed   = errors.New("the handshake is malformed")
)

// frame is one frame, as it was sent.
type frame struct {
	version, kind byte
	body          []byte
	raw           []byte
}

func makeFrame(kind byte, body []byte) frame {
	raw := make([]byte, 0, headerLen+len(body))
	raw = append(raw, magic...)
	raw = append(raw, version, kind)
	raw = binary.BigEndian.AppendUint16(raw, uint16(len(body)))
	raw = append(raw, body...)
	return frame{version: version, kind: kind, body: raw[headerLen:], raw: raw}
}

// readFrame reads a frame and no byte after it.
func readFrame(r io.Reader) (frame, error) {
	raw := make([]byte, headerLen, headerLen+bodyMax)
	if n, err := io.ReadFull(r, raw[:len(magic)]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return frame{}, errNothingSaid
		}
		return frame{}, fmt.Errorf("read the handshake: %w", err)
	}
	switch {
	case string(raw[:len(magic)]) == magic:
	case raw[0] == 0x16 && raw[1] == 0x03:
		return frame{}, fmt.Errorf("%w: it begins with a TLS handshake, and TLS is off here", errNotPeer)
	case raw[0] == 0x15 && raw[1] == 0x03:
		return frame{}, fmt.Errorf("%w: it answers with a TLS alert, and TLS is off here", errNotPeer)
	default:
		return frame{}, fmt.Errorf("%w: it begins with %q", errNotPeer, raw[:len(magic)])
	}
	if _, err := io.ReadFull(r, raw[len(magic):]); err != nil {
		return frame{}, fmt.Errorf("read the handshake: %w", err)
	}
	n := int(binary.BigEndian.Uint16(raw[6:]))
	if n > bodyMax {
		return frame{}, fmt.Errorf("%w: a part of %d bytes, the most are %d", errMalformed, n, bodyMax)
	}
	raw = raw[:headerLen+n]
	if _, err := io.ReadFull(r, raw[headerLen:]); err != nil {
		return frame{}, fmt.Errorf("read the handshake: %w", err)
	}
	return frame{version: raw[4], kind: raw[5], body: raw[headerLen:], raw: raw}, nil
}

// scanner takes a body apart. After a failure all that it returns is empty.
type scanner struct {
	rest   []byte
	failed bool
}

func (s *scanner) take(n int) []byte {
	if s.failed || len(s.rest) < n {
		s.failed = true
		return make([]byte, n)
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

func (s *scanner) text() string { return string(s.take(int(s.take(1)[0]))) }

// end tells whether the body was what was taken, all of it.
func (s *scanner) end() error {
	if s.failed || len(s.rest) > 0 {
		return errMalformed
	}
	return nil
}

func appendText(b []byte, text string) []byte { return append(append(b, byte(len(text))), text...) }

type hello struct {
	flags    byte
	place    place
	nonce    nonce
	instance instance
	from, to string // to is "" for whoever is there
}

func (h hello) frame() frame {
	b := []byte{h.flags, byte(h.place.purpose)}
	b = binary.BigEndian.AppendUint16(b, h.place.group)
	b = append(append(b, h.nonce[:]...), h.instance[:]...)
	return makeFrame(kindHello, appendText(appendText(b, h.from), h.to))
}

func parseHello(f frame) (h hello, err error) {
	s := scanner{rest: f.body}
	h.flags = s.take(1)[0]
	h.place = place{purpose: purpose(s.take(1)[0]), group: binary.BigEndian.Uint16(s.take(2))}
	copy(h.nonce[:], s.take(nonceLen))
	copy(h.instance[:], s.take(len(h.instance)))
	h.from, h.to = s.text(), s.text()
	err = s.end()
	if f.kind != kindHello || err != nil || h.flags&^flagSecret != 0 {
		return hello{}, errMalformed
	}
	if p := h.place.purpose; p != forGroup && p != forCalls || p == forCalls && h.place.group != 0 {
		return hello{}, fmt.Errorf("%w: it does not say what the connection is for", errMalformed)
	}
	if err := CheckNode(h.from); err != nil {
		return hello{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	if h.to != "" {
		if err := CheckNode(h.to); err != nil {
			return hello{}, fmt.Errorf("%w: %w", errMalformed, err)
		}
	}
	return h, nil
}

type challenge struct {
	flags    byte
	nonce    nonce
	instance instance
	node     string
}

func (c challenge) frame() frame {
	b := append(append([]byte{c.flags}, c.nonce[:]...), c.instance[:]...)
	return makeFrame(kindChallenge, appendText(b, c.node))
}

func parseChallenge(f frame) (c challenge, err error) {
	s := scanner{rest: f.body}
	c.flags = s.take(1)[0]
	copy(c.nonce[:], s.take(nonceLen))
	copy(c.instance[:], s.take(len(c.instance)))
	c.node = s.text()
	err = s.end()
	if f.kind != kindChallenge || f.version != version || err != nil || c.flags&^flagSecret != 0 || CheckNode(c.node) != nil {
		return challenge{}, errMalformed
	}
	return c, nil
}

func parseProof(f frame) (p proof, err error) {
	if f.kind != kindProof || f.version != version || len(f.body) != proofLen {
		return proof{}, errMalformed
	}
	copy(p[:], f.body)
	return p, nil
}

type verdict struct {
	code   Code
	proof  proof // of the transcript and of the rest of the verdict; zeros when there is no challenge yet
	reason string
}

func (v verdict) frame() frame {
	b := append([]byte{byte(v.code)}, v.proof[:]...)
	return makeFrame(kindVerdict, appendText(b, v.reason))
}

func parseVerdict(f frame) (v verdict, err error) {
	s := scanner{rest: f.body}
	v.code = Code(s.take(1)[0])
	copy(v.proof[:], s.take(proofLen))
	v.reason = s.text()
	if err = s.end(); f.kind != kindVerdict || err != nil {
		return verdict{}, errMalformed
	}
	if len(v.reason) > reasonMax || strings.ContainsFunc(v.reason, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return verdict{}, errMalformed // it goes to a log
	}
	return v, nil
}

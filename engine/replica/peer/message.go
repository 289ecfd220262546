package peer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/pronybench/prony/engine/internal/nodeid"
)

// The handshake consists of two frames. They follow the TLS handshake and precede the first byte
// that the connection's user sends:
//
//	dialer                                   listener
//	hello: purpose, from, to           ──▶
//	                                   ◀──   verdict: accepted, or refused with a reason; node
//
// A frame is
//
//	magic: 4 bytes | version: 1 | kind: 1 | length of the body: 2, big-endian | body
//
// The layout of this header and of a verdict has been the same since version 2 and must not change,
// so that nodes of different versions can report their incompatibility. (Version 1 proved a shared
// secret instead of using certificates.)
//
//	hello     purpose: 1 | group: 2 | instance: 16 | from: text | to: text
//	verdict   code: 1 | node: text | reason: text
//
// A text consists of its length in one byte, followed by its bytes.
const (
	magic     = "PrnP"
	version   = 2
	headerLen = 8
	bodyMax   = 248 // limits a frame to 256 bytes; each side reads one frame
	reasonMax = 200
)

const (
	kindHello   = 'h'
	kindVerdict = 'v'
)

// instance is a random value that identifies a process.
type instance [16]byte

// frame is a frame in its encoded form, and the decoded header fields and body.
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

// readFrame reads exactly one frame.
func readFrame(r io.Reader) (frame, error) {
	raw := make([]byte, headerLen, headerLen+bodyMax)
	if n, err := io.ReadFull(r, raw[:len(magic)]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return frame{}, errNothingSent
		}
		return frame{}, fmt.Errorf("read the handshake: %w", err)
	}
	if string(raw[:len(magic)]) != magic {
		return frame{}, fmt.Errorf("%w: it begins with %q", errNotPeer, raw[:len(magic)])
	}
	if _, err := io.ReadFull(r, raw[len(magic):]); err != nil {
		return frame{}, fmt.Errorf("read the handshake: %w", err)
	}
	n := int(binary.BigEndian.Uint16(raw[6:]))
	if n > bodyMax {
		return frame{}, fmt.Errorf("%w: a body of %d bytes: expected at most %d", errMalformed, n, bodyMax)
	}
	raw = raw[:headerLen+n]
	if _, err := io.ReadFull(r, raw[headerLen:]); err != nil {
		return frame{}, fmt.Errorf("read the handshake: %w", err)
	}
	return frame{version: raw[4], kind: raw[5], body: raw[headerLen:], raw: raw}, nil
}

// scanner parses a frame's body. After a failure it returns zero values.
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

// end returns an error unless the whole body was consumed without a failure.
func (s *scanner) end() error {
	if s.failed || len(s.rest) > 0 {
		return errMalformed
	}
	return nil
}

func appendText(b []byte, text string) []byte { return append(append(b, byte(len(text))), text...) }

type hello struct {
	place    place
	instance instance
	from, to string // to is "" if any node is acceptable
}

func (h hello) frame() frame {
	b := []byte{byte(h.place.purpose)}
	b = binary.BigEndian.AppendUint16(b, h.place.group)
	b = append(b, h.instance[:]...)
	return makeFrame(kindHello, appendText(appendText(b, h.from), h.to))
}

func parseHello(f frame) (h hello, err error) {
	s := scanner{rest: f.body}
	h.place = place{purpose: purpose(s.take(1)[0]), group: binary.BigEndian.Uint16(s.take(2))}
	copy(h.instance[:], s.take(len(h.instance)))
	h.from, h.to = s.text(), s.text()
	err = s.end()
	if f.kind != kindHello || err != nil {
		return hello{}, errMalformed
	}
	if p := h.place.purpose; p != forGroup && p != forCalls || p == forCalls && h.place.group != 0 {
		return hello{}, fmt.Errorf("%w: invalid purpose of the connection", errMalformed)
	}
	if err := nodeid.Check(h.from); err != nil {
		return hello{}, fmt.Errorf("%w: node %w", errMalformed, err)
	}
	if h.to != "" {
		if err := nodeid.Check(h.to); err != nil {
			return hello{}, fmt.Errorf("%w: node %w", errMalformed, err)
		}
	}
	return h, nil
}

type verdict struct {
	code   Code
	node   string // the listener's ID
	reason string // set if the connection was refused
}

func (v verdict) frame() frame {
	return makeFrame(kindVerdict, appendText(appendText([]byte{byte(v.code)}, v.node), v.reason))
}

func parseVerdict(f frame) (v verdict, err error) {
	s := scanner{rest: f.body}
	v.code = Code(s.take(1)[0])
	v.node, v.reason = s.text(), s.text()
	if err = s.end(); f.kind != kindVerdict || err != nil || nodeid.Check(v.node) != nil {
		return verdict{}, errMalformed
	}
	if len(v.reason) > reasonMax || strings.ContainsFunc(v.reason, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return verdict{}, errMalformed // refuse unprintable text, since it may be logged
	}
	return v, nil
}

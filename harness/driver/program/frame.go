package program

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// kind is the type of a frame.
type kind uint8

// Kinds of frames. The highest bit is set in answers.
const (
	kindOpenProducer kind = 1
	kindOpenWorker   kind = 2
	kindEnqueue      kind = 3
	kindClaim        kind = 4
	kindComplete     kind = 5
	kindFail         kind = 6
	kindCancel       kind = 7

	kindOpened   kind = 0x81
	kindOutcomes kind = 0x82
	kindTasks    kind = 0x83
	kindFailed   kind = 0x84
	kindClosed   kind = 0x85
)

// A frame consists of
//
//	length  uint32  of the rest of the frame
//	kind    uint8
//	call    uint64
//	body
//
// Integers are big-endian.
const (
	lengthBytes = 4
	headBytes   = 1 + 8 // size of kind and call
)

// frame is a frame that was received. Its body is valid until the next frame is read into the same
// buffer.
type frame struct {
	kind kind
	call uint64
	body body
}

// beginFrame starts a frame in b. endFrame completes it.
func beginFrame(b []byte, k kind, call uint64) []byte {
	b = append(b[:0], 0, 0, 0, 0, byte(k))
	return binary.BigEndian.AppendUint64(b, call)
}

func endFrame(b []byte) ([]byte, error) {
	n := len(b) - lengthBytes
	if n > frameBytesMax {
		return b, fmt.Errorf("a call or an answer of %d bytes; a frame has at most %d bytes: lower the batch or the payload", n, frameBytesMax)
	}
	binary.BigEndian.PutUint32(b, uint32(n))
	return b, nil
}

// readFrame reads a frame. The frame's body is a part of the buffer. readFrame returns io.EOF if
// the input ends before the first byte of the frame.
func readFrame(in *bufio.Reader, buffer *[]byte) (f frame, err error) {
	var head [lengthBytes + headBytes]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return f, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < headBytes || n > frameBytesMax {
		return f, fmt.Errorf("a frame with a length of %d bytes; it must be %d to %d", n, headBytes, frameBytesMax)
	}
	n -= headBytes
	if cap(*buffer) < n {
		*buffer = make([]byte, n)
	}
	*buffer = (*buffer)[:n]
	if _, err := io.ReadFull(in, *buffer); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return f, fmt.Errorf("read a frame of %d bytes: %w", n+headBytes, err)
	}
	return frame{kind: kind(head[lengthBytes]), call: binary.BigEndian.Uint64(head[lengthBytes+1:]), body: body{left: *buffer}}, nil
}

// body decodes the values of a frame's body in order. After the first missing value all further
// values are zero, and end returns an error.
type body struct {
	left   []byte
	failed error
}

// take returns the next n bytes, or nil if fewer than n are left.
func (b *body) take(n int, what string) []byte {
	if b.failed != nil {
		return nil
	}
	if n > len(b.left) {
		b.failed = fmt.Errorf("the frame ends within %s", what)
		return nil
	}
	taken := b.left[:n:n]
	b.left = b.left[n:]
	return taken
}

// uint reads an integer of the given number of bytes.
func (b *body) uint(bytes int, what string) uint64 {
	var word [8]byte
	copy(word[len(word)-bytes:], b.take(bytes, what))
	return binary.BigEndian.Uint64(word[:])
}

func (b *body) uint8(what string) uint8   { return uint8(b.uint(1, what)) }
func (b *body) uint32(what string) uint32 { return uint32(b.uint(4, what)) }
func (b *body) uint64(what string) uint64 { return b.uint(8, what) }

// text reads a length as uint16, and then that number of bytes.
func (b *body) text(what string) []byte { return b.take(int(b.uint(2, what)), what) }

// bytes reads a length as uint32, and then that number of bytes.
func (b *body) bytes(what string) []byte { return b.take(int(b.uint(4, what)), what) }

// count reads the number of items that follow. The number must not exceed most.
func (b *body) count(most int, what string) int {
	n := b.uint32("the number of " + what)
	if b.failed == nil && n > uint32(most) {
		b.failed = fmt.Errorf("the frame has a count of %d %s; the maximum is %d", n, what, most)
	}
	if b.failed != nil {
		return 0
	}
	return int(n)
}

// end returns the first error of the decoding. Bytes that were not decoded are an error.
func (b *body) end() error {
	if b.failed == nil && len(b.left) > 0 {
		b.failed = fmt.Errorf("the frame has %d excess bytes", len(b.left))
	}
	return b.failed
}

// appendText encodes a text that body.text can decode. The text must have at most nameBytesMax
// bytes.
func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

// appendBytes encodes bytes that body.bytes can decode.
func appendBytes(b, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
}

// appendReason encodes the text of an error, which body.text can decode. It truncates a long text.
func appendReason(b []byte, reason error) []byte {
	text := strings.ToValidUTF8(reason.Error(), "�")
	if len(text) > reasonBytesMax {
		text = strings.ToValidUTF8(text[:reasonBytesMax], "") + " …"
	}
	return appendText(b, text)
}

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

// Kinds of frames. Answers have the highest bit set.
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
	headBytes   = 1 + 8 // of kind and call
)

// frame is a received frame. Its body is valid until the next frame is read into the same buffer.
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

// endFrame sets the length of a frame that was started in b.
func endFrame(b []byte) ([]byte, error) {
	n := len(b) - lengthBytes
	if n > frameBytesMax {
		return b, fmt.Errorf("a call or an answer of %d bytes; a frame has at most %d bytes: lower the batch or the payload", n, frameBytesMax)
	}
	binary.BigEndian.PutUint32(b, uint32(n))
	return b, nil
}

// readFrame reads a frame; its body is in the buffer. It returns io.EOF if the input ends before
// the frame begins.
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
// values are zero, and end returns the error.
type body struct {
	left   []byte
	failed error
}

// take returns the next n bytes; nil if the body has fewer.
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

func (b *body) uint8(what string) uint8 {
	if data := b.take(1, what); data != nil {
		return data[0]
	}
	return 0
}

func (b *body) uint32(what string) uint32 {
	if data := b.take(4, what); data != nil {
		return binary.BigEndian.Uint32(data)
	}
	return 0
}

func (b *body) uint64(what string) uint64 {
	if data := b.take(8, what); data != nil {
		return binary.BigEndian.Uint64(data)
	}
	return 0
}

// text reads a uint16 length and that number of bytes.
func (b *body) text(what string) []byte {
	if data := b.take(2, what); data != nil {
		return b.take(int(binary.BigEndian.Uint16(data)), what)
	}
	return nil
}

// bytes reads a uint32 length and that number of bytes.
func (b *body) bytes(what string) []byte {
	if data := b.take(4, what); data != nil {
		return b.take(int(binary.BigEndian.Uint32(data)), what)
	}
	return nil
}

// count reads the number of following items, which must be at most most.
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

// end returns the first error of the decoding. Unread bytes are an error.
func (b *body) end() error {
	if b.failed == nil && len(b.left) > 0 {
		b.failed = fmt.Errorf("the frame has %d excess bytes", len(b.left))
	}
	return b.failed
}

// appendText encodes a value for body.text. The text must have at most nameBytesMax bytes.
func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

// appendBytes encodes a value for body.bytes.
func appendBytes(b, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
}

// appendReason encodes an error for body.text, and truncates a long one.
func appendReason(b []byte, reason error) []byte {
	text := strings.ToValidUTF8(reason.Error(), "�")
	if len(text) > reasonBytesMax {
		text = strings.ToValidUTF8(text[:reasonBytesMax], "") + " …"
	}
	return appendText(b, text)
}

package program

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// kind is what a frame says.
type kind uint8

// The kinds of frames. Answers have the highest bit set.
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

// A frame is
//
//	length  uint32  of all that follows
//	kind    uint8
//	call    uint64
//	body
//
// with integers in big-endian order.
const (
	lengthBytes = 4
	headBytes   = 1 + 8 // of kind and call
)

// frame is a frame that was read. Its body is the reader's until the next one is read into the same buffer.
type frame struct {
	kind kind
	call uint64
	body body
}

// beginFrame begins a frame in b, which endFrame ends.
func beginFrame(b []byte, k kind, call uint64) []byte {
	b = append(b[:0], 0, 0, 0, 0, byte(k))
	return binary.BigEndian.AppendUint64(b, call)
}

// endFrame enters the length of a frame that was begun in b.
func endFrame(b []byte) ([]byte, error) {
	n := len(b) - lengthBytes
	if n > frameBytesMax {
		return b, fmt.Errorf("a call or an answer of %d bytes; a frame has at most %d: lower the batch or the payload", n, frameBytesMax)
	}
	binary.BigEndian.PutUint32(b, uint32(n))
	return b, nil
}

// readFrame reads a frame, whose body is in the buffer then. It returns io.EOF if the input ends before the frame begins.
func readFrame(in *bufio.Reader, buffer *[]byte) (f frame, err error) {
	var head [lengthBytes + headBytes]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return f, err
	}
	n := int(binary.BigEndian.Uint32(head[:]))
	if n < headBytes || n > frameBytesMax {
		return f, fmt.Errorf("a frame says that it has %d bytes; it must have %d to %d", n, headBytes, frameBytesMax)
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

// body reads the values of a frame's body, one after the other. After the first one that is not there all others are zero, and end returns
// why.
type body struct {
	left   []byte
	failed error
}

// take returns the next n bytes; nil if there are not as many.
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

// text reads a uint16 and as many bytes.
func (b *body) text(what string) []byte {
	if data := b.take(2, what); data != nil {
		return b.take(int(binary.BigEndian.Uint16(data)), what)
	}
	return nil
}

// bytes reads a uint32 and as many bytes.
func (b *body) bytes(what string) []byte {
	if data := b.take(4, what); data != nil {
		return b.take(int(binary.BigEndian.Uint32(data)), what)
	}
	return nil
}

// count reads the number of things that follow, which is at most most.
func (b *body) count(most int, what string) int {
	n := b.uint32("the number of " + what)
	if b.failed == nil && n > uint32(most) {
		b.failed = fmt.Errorf("the frame says that it has %d %s; it may have %d", n, what, most)
	}
	if b.failed != nil {
		return 0
	}
	return int(n)
}

// end returns why the body could not be read; nil if it was read to its end.
func (b *body) end() error {
	if b.failed == nil && len(b.left) > 0 {
		b.failed = fmt.Errorf("the frame has %d bytes more than it should", len(b.left))
	}
	return b.failed
}

// appendText writes what body.text reads. The text must not be longer than nameBytesMax.
func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

// appendBytes writes what body.bytes reads.
func appendBytes(b, data []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
}

// appendReason writes an error as body.text reads it, cut if it is long.
func appendReason(b []byte, reason error) []byte {
	text := strings.ToValidUTF8(reason.Error(), "�")
	if len(text) > reasonBytesMax {
		text = strings.ToValidUTF8(text[:reasonBytesMax], "") + " …"
	}
	return appendText(b, text)
}

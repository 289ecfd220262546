package rest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/memory"
)

const (
	jsonType    = "application/json"
	bufferBytes = 4 << 10 // size of a pooled buffer; larger than most bodies
)

// checkBody refuses a request whose body is not declared as JSON. This prevents attacks through
// browsers: on behalf of any page, they send bodies of other content types to any server. They send
// JSON only if the server allows it.
func checkBody(in *http.Request) error {
	if in.URL.RawQuery != "" {
		return status.Errorf(codes.InvalidArgument, "the query %q is not allowed: put the fields into the body", clip(in.URL.RawQuery))
	}
	for _, encoding := range in.Header.Values("Content-Encoding") {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return &httpError{http.StatusUnsupportedMediaType, status.Errorf(codes.InvalidArgument,
				"Content-Encoding %q is not supported: send the body without compression", clip(encoding))}
		}
	}
	announced := in.Header.Get("Content-Type")
	if announced == jsonType {
		return nil
	}
	if media, _, err := mime.ParseMediaType(announced); err != nil || media != jsonType {
		return &httpError{http.StatusUnsupportedMediaType, status.Errorf(codes.InvalidArgument,
			"Content-Type %q is not supported: send JSON with Content-Type: application/json", clip(announced))}
	}
	return nil
}

// body is the body of a request. It is read completely before it is decoded.
type body struct {
	budget   *memory.Budget
	bytesMax int
	readMax  time.Duration
	itemsMax int // maximum number of items in each list
	mistakes mistakes
	pooled   *[]byte
	bytes    []byte
	taken    int64 // bytes reserved from the budget
}

var pool = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferBytes)
	return &b
}}

// read reads the body. If the client takes longer than readMax to send it, read fails.
func (b *body) read(w http.ResponseWriter, in *http.Request) error {
	if in.ContentLength > int64(b.bytesMax) {
		return b.tooLarge()
	}
	// The deadline does not apply to the rest of the connection.
	err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.readMax))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return status.Errorf(codes.Internal, "bound the reading of the body: %v", err)
	}
	b.pooled = pool.Get().(*[]byte) // the pool contains only values of this type
	b.bytes = (*b.pooled)[:0]
	if in.ContentLength >= bufferBytes {
		// Reserve one more byte, so that the end of the body can be detected without another call
		// of grow.
		if err := b.grow(int(in.ContentLength) + 1); err != nil {
			return err
		}
	}
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(min(2*cap(b.bytes), b.bytesMax+1)); err != nil {
				return err
			}
		}
		n, err := in.Body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case len(b.bytes) > b.bytesMax:
			return b.tooLarge()
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &httpError{http.StatusRequestTimeout, status.Errorf(codes.DeadlineExceeded, "the body did not arrive within %v", b.readMax)}
		case err != nil:
			return status.Errorf(codes.Canceled, "read the body: %v", err)
		}
	}
}

func (b *body) tooLarge() error {
	return &httpError{http.StatusRequestEntityTooLarge, status.Errorf(codes.InvalidArgument,
		"the body is larger than %d bytes: send fewer or smaller tasks in a call", b.bytesMax)}
}

// grow makes room for n bytes, within the budget that all bodies share.
func (b *body) grow(n int) error {
	more := int64(n) - b.taken
	if err := b.take(more); err != nil {
		return err
	}
	larger := make([]byte, len(b.bytes), n)
	copy(larger, b.bytes)
	b.bytes = larger
	return nil
}

func (b *body) take(n int64) error {
	if !b.budget.Take(n) {
		return exhausted("the memory for calls is used up")
	}
	b.taken += n
	return nil
}

// decodes reserves memory from the budget for the message that is decoded from the body. A body
// that fits into a pooled buffer needs no reservation: it is small, and the number of calls is
// limited.
func (b *body) decodes() error {
	if b.taken == 0 {
		return nil
	}
	return b.take(int64(len(b.bytes)) * (memory.MessageFactor - 1))
}

// free releases the buffer and returns all reserved bytes to the budget.
func (b *body) free() {
	b.release()
	b.budget.Give(b.taken)
	b.taken = 0
}

// release returns the body's buffer to the pool. It may be called more than once. The decoded
// message contains copies of the body's data, so the bytes remain reserved until free is called.
func (b *body) release() {
	b.bytes = nil
	if b.pooled != nil {
		pool.Put(b.pooled)
		b.pooled = nil
	}
}

// decode decodes the whole body into m and releases the body's buffer. If the body is empty, m
// remains the empty message.
func (b *body) decode(m proto.Message) error {
	if len(bytes.TrimSpace(b.bytes)) == 0 {
		return nil
	}
	if err := checkItems(b.bytes, b.itemsMax); err != nil {
		return err
	}
	if err := b.decodes(); err != nil {
		return err
	}
	if !decodeHot(b.bytes, m) {
		if err := unmarshalOptions.Unmarshal(b.bytes, m); err != nil {
			return b.mistakes.body(b.bytes, m.ProtoReflect().Descriptor(), err)
		}
	}
	b.release()
	return nil
}

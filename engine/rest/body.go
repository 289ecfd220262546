package rest

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	jsonType    = "application/json"
	bufferBytes = 4 << 10 // most bodies fit into it
)

// checkBody refuses a request whose body is not announced as JSON. That is more than being particular: a browser
// sends other types to any server for any page, and this one only where the server agrees.
func checkBody(in *http.Request) error {
	if in.URL.RawQuery != "" {
		return status.Errorf(codes.InvalidArgument, "the query %q is not taken: put the fields into the body", clip(in.URL.RawQuery))
	}
	announced := in.Header.Get("Content-Type")
	if announced == jsonType {
		return nil
	}
	if media, _, err := mime.ParseMediaType(announced); err != nil || media != jsonType {
		return &httpError{http.StatusUnsupportedMediaType, status.Errorf(codes.InvalidArgument,
			"Content-Type %q is not taken: send JSON with Content-Type: application/json", clip(announced))}
	}
	return nil
}

// body is a request's body, read whole.
type body struct {
	budget  *budget
	readMax time.Duration
	pooled  *[]byte
	bytes   []byte
	taken   int64 // of the budget
	err     error // what the marshaler says against it
}

var pool = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferBytes)
	return &b
}}

// read reads the body. A client that sends it too slowly is cut off.
func (b *body) read(w http.ResponseWriter, in *http.Request) error {
	if in.ContentLength > bodyBytesMax {
		return tooLarge()
	}
	// The connection has no deadline of its own while a body is read, and gets none for the time after that.
	err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.readMax))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return status.Errorf(codes.Internal, "bound the reading of the body: %v", err)
	}
	b.pooled = pool.Get().(*[]byte) // only these are put there
	b.bytes = (*b.pooled)[:0]
	if in.ContentLength >= bufferBytes {
		if err := b.grow(int(in.ContentLength) + 1); err != nil { // one more, to see its end without growing
			return err
		}
	}
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := b.grow(min(2*cap(b.bytes), bodyBytesMax+1)); err != nil {
				return err
			}
		}
		n, err := in.Body.Read(b.bytes[len(b.bytes):cap(b.bytes)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case len(b.bytes) > bodyBytesMax:
			return tooLarge()
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &httpError{http.StatusRequestTimeout, status.Errorf(codes.DeadlineExceeded, "the body did not come within %v", b.readMax)}
		case err != nil:
			return status.Errorf(codes.Canceled, "read the body: %v", err)
		}
	}
}

func tooLarge() error {
	return &httpError{http.StatusRequestEntityTooLarge, status.Errorf(codes.InvalidArgument,
		"the body is above %d bytes: send fewer or smaller tasks in a call", bodyBytesMax)}
}

// grow makes room for n bytes, within what all bodies together may take.
func (b *body) grow(n int) error {
	more := int64(n) - b.taken
	if !b.budget.take(more) {
		return exhausted("the server holds as many bytes of calls as it may")
	}
	b.taken += more
	larger := make([]byte, len(b.bytes), n)
	copy(larger, b.bytes)
	b.bytes = larger
	return nil
}

// free gives the memory back; it may be called again. A message that was read from the body has copies of its own.
func (b *body) free() {
	b.budget.give(b.taken)
	b.taken, b.bytes = 0, nil
	if b.pooled != nil {
		pool.Put(b.pooled)
		b.pooled = nil
	}
}

// Read makes it an http.Request's body. The marshaler takes the bytes instead.
func (b *body) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing: the one who read it frees it.
func (b *body) Close() error { return nil }

// budget is a number of bytes that many may take from.
type budget struct {
	max   int64
	taken atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.taken.Add(n) > b.max {
		b.taken.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) {
	if n != 0 {
		b.taken.Add(-n)
	}
}

package jobs

import (
	"bytes"
	"context"
	"runtime/debug"

	"github.com/pronybench/prony/engine/queuepb"
)

// protect returns a handler that returns panics of another handler as errors.
func protect(h Handler) Handler {
	return func(ctx context.Context, t *queuepb.Task) (err error) {
		defer func() {
			if value := recover(); value != nil {
				err = &PanicError{Value: value, Stack: stack()}
			}
		}()
		return h(ctx, t)
	}
}

// stack returns the stack from the function that panicked, without the frames of the recovery.
func stack() []byte {
	s := debug.Stack()
	if i := bytes.LastIndex(s, []byte("\npanic(")); i >= 0 {
		s = s[i+1:]
		for range 2 { // the function panic and its place
			_, s, _ = bytes.Cut(s, []byte("\n"))
		}
	}
	return s
}

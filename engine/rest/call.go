package rest

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/rpc/call"
)

// response records the outcome of a call for the observer.
type response struct {
	http.ResponseWriter

	holds func(bytes int) // adds to the number of bytes being written

	answer any
	err    error
	// Nil if no call of the handler is forwarded, or the guard refused the call.
	forwarded func() bool
}

// Write answers the client. It returns no error: an error means that the client's connection is
// closed, and the generated code would only log it.
func (w *response) Write(b []byte) (int, error) {
	w.holds(len(b))
	defer w.holds(-len(b))
	_, _ = w.ResponseWriter.Write(b)
	return len(b), nil
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// noteResponse records the message of an answer; the generated code calls it first.
func noteResponse(_ context.Context, w http.ResponseWriter, m proto.Message) error {
	if w, ok := w.(*response); ok {
		w.answer = m
	}
	return nil
}

// watch serves one call of a route and reports it to the observer.
func (h *handler) watch(r *route, serve http.Handler, w http.ResponseWriter, in *http.Request) {
	if in.Method != r.method { // a HEAD, which the pattern of a GET matches too
		notAllowed([]string{r.method})(w, in)
		return
	}
	start := time.Now()
	noted := &response{ResponseWriter: w, holds: func(bytes int) { h.holds(in.Context(), bytes) }}
	serve.ServeHTTP(noted, in)
	if h.observe != nil {
		h.observe(Call{
			Method: r.rpc, Response: noted.answer, Err: noted.err, Took: time.Since(start),
			Forwarded: noted.forwarded != nil && noted.forwarded(),
		})
	}
}

// serve handles one call that the guard accepted.
func (h *handler) serve(r *route, w http.ResponseWriter, in *http.Request) {
	defer h.calls.Add(-1)
	if h.calls.Add(1) > h.callsMax {
		WriteError(w, exhausted("the server is handling the maximum number of calls"))
		return
	}
	ctx := in.Context()
	if h.forwards != nil {
		var forwarded func() bool
		ctx, forwarded = h.forwards(ctx)
		if w, ok := w.(*response); ok {
			w.forwarded = forwarded
		}
	}
	if h.leader != nil {
		if at := h.leader(); at != "" {
			w.Header().Set(LeaderHeader, at)
		}
	}
	if !r.hasBody() {
		if err := h.mistakes.query(r, in.URL); err != nil {
			WriteError(w, err)
			return
		}
		ctx = h.arrives(ctx, r.rpc)
		// The generated code converts every header to metadata, so it receives only the required
		// ones.
		bare := in.WithContext(ctx)
		bare.Header, bare.Host, bare.RemoteAddr = http.Header{}, "", ""
		bare.Body = http.NoBody
		h.gateway.ServeHTTP(w, bare)
		return
	}
	b := &body{budget: h.bodies, bytesMax: h.bodyMax, readMax: h.bodyReadMax, itemsMax: h.itemsMax, mistakes: h.mistakes}
	defer b.free()
	err := checkBody(in)
	if err == nil {
		err = b.read(w, in)
	}
	if err != nil {
		WriteError(w, err)
		return
	}
	ctx = h.arrives(ctx, r.rpc)
	out, err := r.handle(h.service, ctx, func(m any) error {
		request, ok := m.(proto.Message)
		if !ok {
			return status.Errorf(codes.Internal, "%T is not a message", m)
		}
		return b.decode(request)
	}, nil)
	if err != nil {
		WriteError(w, err)
		return
	}
	if e := r.onlyRefusal(out); e != nil {
		if w, ok := w.(*response); ok {
			w.answer = out
		}
		WriteError(w, call.StatusOfItem(e, r.items+"[0]"))
		return
	}
	h.answer(w, out)
}

// answer answers a call with a message.
func (h *handler) answer(w http.ResponseWriter, out any) {
	m, ok := out.(proto.Message)
	if !ok {
		WriteError(w, status.Errorf(codes.Internal, "%T is not a message", out))
		return
	}
	pooled := answers.Get().(*[]byte) // the pool has only these
	defer answers.Put(pooled)
	text, err := appendAnswer((*pooled)[:0], m)
	if err != nil {
		WriteError(w, status.Errorf(codes.Internal, "encode the answer: %v", err))
		return
	}
	if cap(text) <= answerPooledMax {
		*pooled = text[:0]
	}
	if w, ok := w.(*response); ok {
		w.answer = m
	}
	header := w.Header()
	header["Content-Type"] = jsonTypes
	header.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // an error means that the client's connection is closed
}

// answerPooledMax bounds the size of a buffer that returns to the pool.
const answerPooledMax = 64 << 10

var answers = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferBytes)
	return &b
}}

// jsonTypes is the value of the header Content-Type of all answers. It must not be modified.
var jsonTypes = []string{jsonType}

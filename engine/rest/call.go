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

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// response records the outcome of a call. The observer needs it.
type response struct {
	http.ResponseWriter

	holds func(bytes int) // adds to the number of answer bytes that are being written

	answer any
	err    error
	// forwarded reports whether another node executed a part of the call. It is nil if the handler
	// forwards no calls, or if the guard refused the call.
	forwarded func() bool
}

// Write answers the client. It ignores errors: if writing fails, the client has closed the
// connection, and the generated code would only log the error.
func (w *response) Write(b []byte) (int, error) {
	w.holds(len(b))
	defer w.holds(-len(b))
	_, _ = w.ResponseWriter.Write(b)
	return len(b), nil
}

// Unwrap lets http.ResponseController access the underlying writer.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// noteResponse records the message of an answer. The generated code calls it before it writes the
// answer.
func noteResponse(_ context.Context, w http.ResponseWriter, m proto.Message) error {
	if w, ok := w.(*response); ok {
		w.answer = m
	}
	return nil
}

// watch serves one call of a route and then reports the call to the observer.
func (h *handler) watch(r *route, serve http.Handler, w http.ResponseWriter, in *http.Request) {
	if in.Method != r.method { // the pattern of a GET also matches a HEAD
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
		// The generated code converts all headers to metadata. The call needs none of them, so
		// remove them.
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

func (h *handler) answer(w http.ResponseWriter, out any) {
	m, ok := out.(proto.Message)
	if !ok {
		WriteError(w, status.Errorf(codes.Internal, "%T is not a message", out))
		return
	}
	pooled := answers.Get().(*[]byte) // the pool contains only values of this type
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
	_, _ = w.Write(text) // fails only if the client has closed the connection
}

// answerPooledMax is the maximum size in bytes of a buffer that is returned to the pool.
const answerPooledMax = 64 << 10

var answers = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferBytes)
	return &b
}}

// jsonTypes is the value of the header Content-Type of all answers. It must not be modified.
var jsonTypes = []string{jsonType}

// onlyRefusal returns the error of a call's only item, or nil. Such an error refuses the whole
// call. Calls with several items have a separate result for each item.
func (r *route) onlyRefusal(out any) *queuepb.ItemError {
	if r.items == "" {
		return nil
	}
	switch m := out.(type) {
	case *queuepb.EnqueueResponse:
		if results := m.GetResults(); len(results) == 1 {
			return results[0].GetError()
		}
	case interface {
		GetResults() []*queuepb.SettleResult
	}:
		if results := m.GetResults(); len(results) == 1 {
			return results[0].GetError()
		}
	}
	return nil
}

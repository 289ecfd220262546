package rest

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/protobuf/proto"
)

// response notes what became of a call, for its observer.
type response struct {
	http.ResponseWriter

	holds func(bytes int) // counts the bytes that are being written

	answer any
	err    error
}

// Write answers the client. It returns no error: after one the client's connection is gone, and the generated code would only
// log it.
func (w *response) Write(b []byte) (int, error) {
	w.holds(len(b))
	defer w.holds(-len(b))
	_, _ = w.ResponseWriter.Write(b)
	return len(b), nil
}

// Unwrap lets http.ResponseController through.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// noteResponse is called by the generated code before it answers with a message.
func noteResponse(_ context.Context, w http.ResponseWriter, m proto.Message) error {
	if w, ok := w.(*response); ok {
		w.answer = m
	}
	return nil
}

// watch serves one call of a route, and tells the observer.
func (h *handler) watch(r *route, serve http.Handler, w http.ResponseWriter, in *http.Request) {
	if in.Method != r.method { // a HEAD, which the pattern of a GET takes too
		notAllowed([]string{r.method})(w, in)
		return
	}
	start := time.Now()
	noted := &response{ResponseWriter: w, holds: func(bytes int) { h.holds(in.Context(), bytes) }}
	serve.ServeHTTP(noted, in)
	if h.observe != nil {
		h.observe(Call{Method: r.rpc, Response: noted.answer, Err: noted.err, Took: time.Since(start)})
	}
}

// serve carries out one call that the guard let through.
func (h *handler) serve(r *route, w http.ResponseWriter, in *http.Request) {
	defer h.calls.Add(-1)
	if h.calls.Add(1) > h.callsMax {
		WriteError(w, exhausted("the server has as many calls under way as it may"))
		return
	}
	// Only the headers that are needed reach the generated code, which would make metadata of every header.
	call := in.WithContext(in.Context())
	call.Header, call.Host, call.RemoteAddr = http.Header{}, "", ""
	if !r.hasBody() {
		if err := checkQuery(r, in.URL); err != nil {
			WriteError(w, err)
			return
		}
		call.Body = http.NoBody
		h.gateway.ServeHTTP(w, call)
		return
	}
	b := &body{budget: h.bodies, bytesMax: h.bodyMax, readMax: h.bodyReadMax, itemsMax: h.itemsMax}
	defer b.free()
	err := checkBody(in)
	if err == nil {
		err = b.read(w, in)
	}
	if err != nil {
		WriteError(w, err)
		return
	}
	call.Body = b
	h.gateway.ServeHTTP(w, call)
}

// checkQuery refuses parameters that the request message does not have: the generated code passes over them.
func checkQuery(r *route, u *url.URL) error {
	if u.RawQuery == "" {
		return nil
	}
	for name := range u.Query() {
		if !r.parameter(name) {
			return fieldError(name, "is not a parameter of this call: GET /openapi.json lists them")
		}
	}
	return nil
}

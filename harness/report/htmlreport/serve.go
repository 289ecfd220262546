package htmlreport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits of the server, which anybody on its address may call.
const (
	headerWithin = 5 * time.Second
	answerWithin = time.Minute
	idleWithin   = time.Minute
	headerBytes  = 16 << 10
	stopWithin   = 2 * time.Second
)

// servedPolicy is what a browser lets a served file do: run its own scripts, and nothing over the network. The file's own policy holds too.
const servedPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves an HTML file at /, and nothing else. It answers GET and HEAD.
func Handler(document []byte) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(document)))
		_, _ = w.Write(document) // net/http drops the body of an answer to HEAD; an error means that the client went away
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", servedPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		mux.ServeHTTP(w, r)
	})
}

// local answers only what is asked for by an address or as localhost: another name that leads to this host may be a stranger's, whose pages
// would read the answer.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host // it has no port
		}
		if host != "localhost" && net.ParseIP(strings.Trim(host, "[]")) == nil {
			http.Error(w, "These pages are served to this host only, at 127.0.0.1.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Serve serves an HTML file on a listener, which it closes, until the context ends. On a listener of the loopback interface it answers only
// what is asked for by an address or as localhost.
func Serve(ctx context.Context, listener net.Listener, document []byte) error {
	handler := Handler(document)
	if address, is := listener.Addr().(*net.TCPAddr); is && address.IP.IsLoopback() {
		handler = local(handler)
	}
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerWithin, ReadTimeout: headerWithin, WriteTimeout: answerWithin, IdleTimeout: idleWithin,
		MaxHeaderBytes: headerBytes,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the pages: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	err := server.Shutdown(stopping)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // clients that do not read their answer are cut off
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop serving the pages: %w", err)
	}
	return nil
}

package htmlreport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/pageguard"
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

// Serve serves an HTML file on a listener, which it closes, until the context ends. It answers no page of another
// site, as package pageguard says.
func Serve(ctx context.Context, listener net.Listener, document []byte) error {
	server := &http.Server{
		Handler: pageguard.Handler(listener.Addr(), Handler(document)), ReadHeaderTimeout: headerWithin, ReadTimeout: headerWithin, WriteTimeout: answerWithin, IdleTimeout: idleWithin,
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

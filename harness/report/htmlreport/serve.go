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

// Limits of the server, which anybody who can reach its address may call.
const (
	headerWithin = 5 * time.Second
	answerWithin = time.Minute
	idleWithin   = time.Minute
	headerBytes  = 16 << 10
	stopWithin   = 2 * time.Second
)

// servedPolicy allows a served file to run its own scripts, but not to use the network. The file's
// own policy also applies.
const servedPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves an HTML file at /, and nothing else. It answers GET and HEAD.
func Handler(document []byte) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Length", strconv.Itoa(len(document)))
		// net/http drops the body of a HEAD response; an error means that the client disconnected.
		_, _ = w.Write(document)
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

// Serve serves an HTML file on a listener, which it closes, until the context ends. It rejects
// requests from pages of other sites, as package pageguard describes.
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
		err = server.Close() // disconnect clients that do not read their response
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if err != nil {
		return fmt.Errorf("stop serving the pages: %w", err)
	}
	return nil
}

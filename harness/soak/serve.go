package soak

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pronybench/prony/harness/pageguard"
)

// Limits of the page's HTTP server. Any client that reaches its address may send requests.
const (
	serveHeaderWithin = 5 * time.Second
	serveWithin       = 30 * time.Second
	serveHeaderBytes  = 16 << 10
	serveStopWithin   = 5 * time.Second
)

// ListenAddress converts a value from the command line to an address for net.Listen. The value may
// be a port, which selects the loopback interface, or an address with a host.
func ListenAddress(text string) (string, error) {
	const remedy = `write a port, as in 9100, an address, as in 127.0.0.1:0, or 0.0.0.0:9100 for other hosts to reach it`
	if port, err := strconv.ParseUint(text, 10, 16); err == nil {
		return net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10)), nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" {
		return "", fmt.Errorf("%q is not an address to listen on: %s", text, remedy)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q has no port from 0 to 65535: %s", text, remedy)
	}
	return text, nil
}

// Server serves the page of a soak under / and its metrics for Prometheus under /metrics. It
// rejects requests from pages of other sites. Its methods are safe for concurrent use.
type Server struct {
	listener net.Listener
	http     *http.Server
	serving  sync.WaitGroup
	metrics  *collector

	mu     sync.Mutex
	status Status
}

// Serve listens on an address that ListenAddress returned, and serves until Close is called.
func Serve(address string) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for the page of the soak: %w", err)
	}
	s := &Server{listener: listener, metrics: &collector{}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.metrics)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /{$}", s.page)
	s.http = &http.Server{
		Handler: pageguard.Handler(listener.Addr(), mux), ReadHeaderTimeout: serveHeaderWithin, ReadTimeout: serveWithin, WriteTimeout: serveWithin, MaxHeaderBytes: serveHeaderBytes,
	}
	// always returns the error that Close causes
	s.serving.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

// URL returns the address of the page.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Publish replaces the status that is served.
func (s *Server) Publish(status Status) {
	s.mu.Lock()
	s.status = status
	s.mu.Unlock()
	s.metrics.publish(status)
}

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	if status.Soak == nil {
		w.Header().Set("Refresh", strconv.Itoa(int(pageRefresh.Seconds())))
		http.Error(w, "The first window has not ended yet.", http.StatusServiceUnavailable)
		return
	}
	text, err := page(status.Soak, status.Left)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(text)) // the client may have disconnected
}

// Close stops the server and waits for its requests to end.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), serveStopWithin)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.serving.Wait()
	return err
}

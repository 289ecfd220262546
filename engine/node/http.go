package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/pronybench/prony/engine/internal/planted"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rest"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

// These constants limit the HTTP listeners.
const (
	headerReadMax  = 10 * time.Second
	headerBytesMax = 64 << 10
	connectionIdle = 2 * time.Minute
	// answerMax limits the time from the end of a request's header to the end of the answer. A
	// claim waits for at most half of it.
	answerMax = 2 * time.Minute
	// adminAnswerMax is answerMax for the admin listener. It also limits the duration of a profile
	// and of a gRPC stream there.
	adminAnswerMax = 10 * time.Minute
	// adminStopMax limits the time that a stopping node waits for admin calls. Without it, a
	// profile could delay closing the stores.
	adminStopMax = time.Second
)

func (n *Node) restOptions(l queue.Limits) rest.Options {
	return rest.Options{
		ItemsMax: call.ItemsMax(l), Requests: n.bounds.Requests(), RequestBytesMax: n.shares.MessageBytes, Holds: call.Holds,
		Guard:   func(next http.Handler) http.Handler { return n.auth.Guard(next, rest.WriteError) },
		Arrives: planted.Arrives(n.metrics.RESTArrives),
		Observe: n.metrics.RESTCall,
		Range: func(field string) (least, most uint64, ok bool) {
			if least, most, ok = l.Range(field); !ok {
				least, most, ok = admin.Range(field)
			}
			return least, most, ok
		},
	}
}

func (n *Node) newHTTP(c Config) error {
	if n.httpAt == nil {
		return nil
	}
	o := n.restOptions(c.Limits)
	if n.cluster != nil {
		o.Leader, o.Forwards = n.service.LeaderHTTP, route.WatchForwards
	}
	h, err := rest.NewQueue(n.service, o)
	if err != nil {
		return fmt.Errorf("serve REST: %w", err)
	}
	n.http = n.boundedServer(n.hostsOf(c, n.httpAt).guard(h), answerMax)
	return nil
}

// boundedServer returns a server with timeouts for every phase of a connection, except for reading
// a body. The handler limits that time.
func (n *Node) boundedServer(h http.Handler, answerMax time.Duration) *http.Server {
	return &http.Server{
		Handler: h, ConnContext: call.WithLink, ReadHeaderTimeout: headerReadMax, MaxHeaderBytes: headerBytesMax, IdleTimeout: connectionIdle, WriteTimeout: answerMax,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelWarn),
	}
}

// serveHTTP serves until the server is shut down. If the listener is disabled, it does nothing.
func (n *Node) serveHTTP(what string, s *http.Server, l net.Listener) {
	if s == nil {
		return
	}
	n.serving.Go(func() {
		if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			n.fail(fmt.Errorf("serve %s: %w", what, err))
		}
	})
}

// stopHTTP waits for the REST calls until ctx ends, and then closes the connections of calls that
// have not ended.
func (n *Node) stopHTTP(ctx context.Context) {
	if n.http == nil {
		return
	}
	if err := n.http.Shutdown(ctx); err != nil {
		n.log.Warn("cutting REST connections that did not end in time")
		n.warn(n.http.Close())
	}
}

// stopAdmin stops the admin listener. It is the last listener to stop. stopAdmin waits for calls
// for at most adminStopMax.
func (n *Node) stopAdmin(ctx context.Context) {
	if n.admin == nil {
		return
	}
	closing, cancel := context.WithTimeout(ctx, adminStopMax)
	defer cancel()
	if err := n.admin.Shutdown(closing); err != nil {
		n.warn(n.admin.Close())
	}
	n.adminGRPC.Stop()
	n.flight.stop()
	n.cpuProfile.stop()
}

// HTTP returns the address of the REST listener, or "" if it is disabled.
func (n *Node) HTTP() string {
	if n.httpAt == nil {
		return ""
	}
	return n.httpAt.Addr().String()
}

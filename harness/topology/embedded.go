package topology

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/pronybench/prony/engine/node"
)

const (
	// pipeBytes is the size of the buffer for each direction of a connection.
	pipeBytes = 1 << 20
	// embeddedStopMax bounds the time in which the sessions of an embedded server may end in order.
	// After that they are cut.
	embeddedStopMax = 5 * time.Second
	// embeddedKillMax bounds the wait for the end of an embedded server after its sessions were
	// cut.
	embeddedKillMax = 10 * time.Second
)

var (
	errCantKill  = errors.New("a server inside the harness can't be killed separately: end it with SIGTERM, or use topology \"single\"")
	errCantPause = errors.New("a server inside the harness can't be paused separately: use topology \"single\"")
)

// embedded is a server inside this process. If such a server fails, its resources remain in use
// until the process ends, because a failed store cannot be closed.
type embedded struct {
	node *node.Node
	log  *os.File

	stop   sync.Once
	exited chan struct{} // closed when the server has ended; err may be read only after that
	err    error
}

// startEmbedded opens a node in this process. Clients reach it through an in-memory pipe. The node
// becomes the owner of the log.
func startEmbedded(s *Server, log *os.File) (*Node, error) {
	t := s.cluster.config.Topology
	pipe := bufconn.Listen(pipeBytes)
	config, err := node.Embedded(s.place.data, t.Durability, pipe)
	if err != nil {
		return nil, errors.Join(err, pipe.Close(), log.Close())
	}
	config.Shards = max(1, t.Shards)
	config.Log = slog.New(slog.NewTextHandler(log, nil))
	if t.SyncInterval > 0 {
		config.SyncInterval = t.SyncInterval
	}
	began := time.Now()
	opened, err := node.Open(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the embedded server: %w", err), log.Close())
	}
	e := &embedded{node: opened, log: log, exited: make(chan struct{})}
	go e.watch()
	return &Node{
		Address: opened.Addresses()[0], HTTP: opened.HTTP(), Admin: opened.Admin(), Dial: pipe.DialContext,
		PID: os.Getpid(), Began: began, server: s, command: []string{"(inside this process)"}, process: e,
		noted: make(chan struct{}),
	}, nil
}

func (e *embedded) watch() {
	select {
	case err := <-e.node.Failed():
		e.stop.Do(func() { e.end(fmt.Errorf("the server failed: %w", err)) })
	case <-e.exited:
	}
}

func (e *embedded) end(err error) {
	e.err = errors.Join(err, e.log.Close())
	close(e.exited)
}

// shutdown ends the server in order. When ctx is done, it cuts the remaining sessions.
func (e *embedded) shutdown(ctx context.Context) {
	e.stop.Do(func() { e.end(e.node.Shutdown(ctx)) })
}

func (e *embedded) Done() <-chan struct{} { return e.exited }

func (e *embedded) ended() bool {
	select {
	case <-e.exited:
		return true
	default:
		return false
	}
}

func (e *embedded) Err() error {
	if !e.ended() {
		return nil
	}
	return e.err
}

func (e *embedded) Orderly() bool { return e.ended() && e.err == nil }

func (e *embedded) Status() string {
	switch {
	case !e.ended():
		return "running"
	case e.err != nil:
		return "it failed"
	}
	return "it ended in order"
}

func (*embedded) CPU() time.Duration { return 0 }

func (e *embedded) Signal(sig os.Signal) error {
	switch sig {
	case syscall.SIGTERM:
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), embeddedStopMax)
			defer cancel()
			e.shutdown(ctx)
		}()
		return nil
	case syscall.SIGCONT:
		return nil
	case syscall.SIGSTOP:
		return errCantPause
	}
	return fmt.Errorf("send %s to a server inside the harness: it has no separate process", sig)
}

// Kill cuts all connections and ends the server. Acknowledged data is not lost.
func (e *embedded) Kill() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e.shutdown(ctx)
	timer := time.NewTimer(embeddedKillMax)
	defer timer.Stop()
	select {
	case <-e.exited:
		return nil
	case <-timer.C:
		return fmt.Errorf("the server inside the harness did not end within %s", embeddedKillMax)
	}
}

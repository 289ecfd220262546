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
	// pipeBytes is how much one direction of a connection inside the process holds.
	pipeBytes = 1 << 20
	// embeddedStopMax is how long the sessions of an embedded server may take to end before they are cut.
	embeddedStopMax = 5 * time.Second
	// embeddedKillMax bounds the wait for an embedded server whose sessions were cut.
	embeddedKillMax = 10 * time.Second
)

var (
	errCantKill  = errors.New("a server inside the harness can't be killed alone; end it with SIGTERM, or take topology \"single\"")
	errCantPause = errors.New("a server inside the harness can't be paused alone; take topology \"single\"")
)

// embedded is a server that is a part of this process. One that fails by itself leaves what it holds to the process's end,
// since a store that failed can't be closed.
type embedded struct {
	node *node.Node
	log  *os.File

	stop   sync.Once
	exited chan struct{} // closed at its end; err is read only after that
	err    error
}

// startEmbedded opens a node in this process, reached by a pipe in its memory. The log is the node's then.
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

// watch notes it if the server fails by itself.
func (e *embedded) watch() {
	select {
	case err := <-e.node.Failed():
		e.stop.Do(func() { e.end(fmt.Errorf("the server can't go on: %w", err)) })
	case <-e.exited:
	}
}

func (e *embedded) end(err error) {
	e.err = errors.Join(err, e.log.Close())
	close(e.exited)
}

// shutdown ends the server in order, for as long as ctx lasts.
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
	return fmt.Errorf("send %s to a server inside the harness: it has no process of its own", sig)
}

// Kill cuts all connections and ends the server. The server keeps what it acknowledged.
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
		return fmt.Errorf("the server inside the harness has not ended within %s", embeddedKillMax)
	}
}

package reference

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// echoGrace bounds how long an echo waits for an answer after its time has passed.
const echoGrace = 5 * time.Second

// exchange sends a message and waits until the server returns it.
type exchange func(message []byte) error

// echoServer answers each message with the same message. It uses one transport.
type echoServer interface {
	// serve answers messages until stop is called.
	serve(net.Listener) error
	stop()
	// dial connects to an address. The connection ends when ctx is done or close is called.
	dial(ctx context.Context, network, address string) (echoConn, error)
}

// echoConn is a connection. caller may be called several times. Each caller makes one exchange at a
// time.
type echoConn interface {
	caller(ctx context.Context) (exchange, error)
	close() error
}

// echo makes callers exchange messages with a server in this process over a socket. The size of a
// message is the total size of the payloads in one call.
func echo(ctx context.Context, c Config) (m measured, err error) {
	server, err := newEchoServer(c.Driver, c.TLS)
	if err != nil {
		return m, err
	}
	if c.Procs > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Procs))
	}
	listener, remove, err := listen(c.Listen)
	if err != nil {
		return m, err
	}
	served := make(chan error, 1)
	go func() { served <- server.serve(listener) }()
	defer func() {
		server.stop()
		err = errors.Join(err, <-served, remove())
	}()
	ctx, cancel := context.WithTimeout(ctx, c.For+echoGrace)
	defer cancel()
	var conns []echoConn
	defer func() {
		for _, conn := range conns {
			err = errors.Join(err, conn.close())
		}
	}()
	var callers []exchange
	for i := range max(c.Callers, c.Connections) {
		if i < c.Connections {
			conn, err := server.dial(ctx, listener.Addr().Network(), listener.Addr().String())
			if err != nil {
				return m, fmt.Errorf("connect to the echo: %w", err)
			}
			conns = append(conns, conn)
		}
		call, err := conns[i%len(conns)].caller(ctx)
		if err != nil {
			return m, fmt.Errorf("open a call to the echo: %w", err)
		}
		callers = append(callers, call)
	}
	message := make([]byte, c.Batch*c.Payload)
	// The warm-up opens connections, and lets buffers grow to their final size.
	if _, err := exchangeFor(c.For/5, callers, message); err != nil {
		return m, err
	}
	return exchangeFor(c.For, callers, message)
}

// exchangeFor makes all callers exchange messages for the given time. Each caller exchanges at
// least one message.
func exchangeFor(limit time.Duration, callers []exchange, message []byte) (m measured, err error) {
	before, err := now()
	if err != nil {
		return m, err
	}
	var done atomic.Uint64
	var all sync.WaitGroup
	errs := make([]error, len(callers))
	for i, call := range callers {
		all.Go(func() {
			n := uint64(0)
			for errs[i] == nil && (n == 0 || time.Since(before.at) < limit) {
				errs[i] = call(message)
				n++
			}
			done.Add(n)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return m, fmt.Errorf("echo a message: %w", err)
	}
	return before.since(done.Load())
}

// listen listens on a free loopback port or on a Unix socket. remove removes the folder of the
// socket.
func listen(how string) (l net.Listener, remove func() error, err error) {
	if how != "unix" {
		l, err = net.Listen("tcp", "127.0.0.1:0")
		return l, func() error { return nil }, wrap("listen for the echo", err)
	}
	// The socket is not in the data folder, because that path may exceed the 107 bytes of a
	// socket's path.
	dir, err := os.MkdirTemp("", "prony-echo-")
	if err != nil {
		return nil, nil, fmt.Errorf("create a folder for a socket: %w", err)
	}
	remove = func() error { return os.RemoveAll(dir) }
	if l, err = net.Listen("unix", filepath.Join(dir, "echo")); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen for the echo: %w", err), remove())
	}
	return l, remove, nil
}

func wrap(doing string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

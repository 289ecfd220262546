package rest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// idleMax is how long an idle connection is assumed to remain open. Servers close idle connections
// only after minutes.
const idleMax = 10 * time.Second

// connection is a persistent HTTP/1.1 connection for one request at a time. It opens the network
// connection when necessary. It is not safe for concurrent use.
//
// The Transport of net/http passes each request through two additional goroutines, because it
// shares connections and reads ahead. A caller that waits for its answer needs neither, and the
// generator shares the host's CPUs with the server.
type connection struct {
	encrypted *tls.Config // nil without TLS

	base string // URL of the node of conn: "http://host:port", or "https://host:port" with TLS
	conn net.Conn
	left io.LimitedReader // limits the rest of the answer, including headers and chunk marks
	in   *bufio.Reader    // reads from left
	out  []byte           // buffer that is reused
	used time.Time

	watched context.Context // when this context is done, the connection is closed
	unwatch func() bool
}

type answer struct {
	code   int
	status string // status code and its name
	leader string // node that should receive further requests, or ""
	body   []byte // at most answerBytesMax+1 bytes
	last   bool   // set if the connection accepts no further request
}

type request struct {
	method  string // "GET" or "POST"
	path    string
	headers string // each header ends with a line break
	body    []byte
}

// do sends a request and reads its answer. If it returns an error, the outcome of the request is
// unknown, unless no connection could be opened.
func (c *connection) do(ctx context.Context, base string, r request) (answer, error) {
	a, err := c.exchange(ctx, base, r)
	c.used = time.Now()
	if err != nil || a.last {
		c.close()
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s %s%s: %w", r.method, base, r.path, errors.Join(ctx.Err(), err))
	}
	return a, nil
}

func (c *connection) exchange(ctx context.Context, base string, r request) (answer, error) {
	if c.conn != nil && (c.base != base || time.Since(c.used) > idleMax) {
		c.close()
	}
	if c.conn == nil {
		if err := c.dial(ctx, base); err != nil {
			return answer{}, err
		}
	}
	c.watch(ctx)
	c.out = append(append(append(append(c.out[:0], r.method...), ' '), r.path...), " HTTP/1.1\r\nHost: "...)
	c.out = append(append(append(c.out, hostOf(base)...), "\r\n"...), r.headers...)
	c.out = append(strconv.AppendInt(append(c.out, "Content-Length: "...), int64(len(r.body)), 10), "\r\n\r\n"...)
	c.out = append(c.out, r.body...)
	if _, err := c.conn.Write(c.out); err != nil {
		return answer{}, err
	}
	return c.read()
}

func (c *connection) read() (answer, error) {
	c.left.N = 2 * answerBytesMax
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return answer{}, err
	}
	a := answer{code: r.StatusCode, status: r.Status, leader: r.Header.Get(leaderHeader), last: r.Close}
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), answerBytesMax)) + bytes.MinRead) // avoids growing
	_, err = body.ReadFrom(io.LimitReader(r.Body, answerBytesMax+1))
	if a.body = body.Bytes(); len(a.body) > answerBytesMax {
		a.last = true // the rest of the answer remains unread
		return a, err
	}
	return a, errors.Join(err, r.Body.Close())
}

func (c *connection) dial(ctx context.Context, base string) error {
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if c.encrypted != nil {
		dialer = &tls.Dialer{Config: c.encrypted} // this dialer also performs the handshake
	}
	conn, err := dialer.DialContext(ctx, "tcp", hostOf(base))
	if err != nil {
		return err
	}
	c.base, c.conn, c.left.R = base, conn, conn
	if c.in == nil {
		c.in = bufio.NewReaderSize(nil, bufferBytes)
	}
	c.in.Reset(&c.left)
	return nil
}

// watch closes the connection when ctx is done, which ends the current request. Most requests of a
// connection have the same context, so the registration is reused.
func (c *connection) watch(ctx context.Context) {
	if c.watched == ctx {
		return
	}
	if c.unwatch != nil {
		c.unwatch()
	}
	conn := c.conn
	c.watched, c.unwatch = ctx, context.AfterFunc(ctx, func() { _ = conn.Close() })
}

func (c *connection) close() {
	if c.conn == nil {
		return
	}
	c.unwatch()
	_ = c.conn.Close() // may already be closed
	c.conn, c.watched, c.unwatch = nil, nil, nil
}

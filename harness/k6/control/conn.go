package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

const (
	// beginWithin is the timeout for the harness's begin message.
	beginWithin = 60 * time.Second
	// beginAway is the maximum distance of the begin from the current time.
	beginAway = 60 * time.Second
	// sendWithin is the timeout for connecting and for sending a message.
	sendWithin = 10 * time.Second
)

// Conn is a connection to the harness. Several goroutines may send messages concurrently.
type Conn struct {
	socket net.Conn

	mu sync.Mutex // one message at a time
}

// Dial connects to the socket at a path.
func Dial(ctx context.Context, path string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	var d net.Dialer
	socket, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("prony: connect to the harness at %s, the value of %s: %w", path, k6run.ControlEnv, err)
	}
	return &Conn{socket: socket}, nil
}

// Ready reports that the script's VUs are ready, and waits up to beginWithin for the harness to
// begin the load. It returns the time of the begin, with a monotonic reading. Call it once, before
// other messages.
func (c *Conn) Ready(ctx context.Context) (begin time.Time, err error) {
	if err := c.send(k6run.Message{Ready: &k6run.Ready{Version: k6run.Version}}); err != nil {
		return begin, err
	}
	if err := c.socket.SetReadDeadline(time.Now().Add(beginWithin)); err != nil {
		return begin, fmt.Errorf("prony: wait for the harness: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = c.socket.SetReadDeadline(time.Unix(1, 0)) })()
	text, err := bufio.NewReader(io.LimitReader(c.socket, k6run.MessageBytesMax)).ReadBytes('\n')
	switch {
	case ctx.Err() != nil:
		return begin, fmt.Errorf("prony: wait for the harness to begin: %w", context.Cause(ctx))
	case errors.Is(err, io.EOF) && len(text) == k6run.MessageBytesMax:
		return begin, fmt.Errorf("prony: the harness sent more than %d bytes", k6run.MessageBytesMax)
	case err != nil:
		return begin, fmt.Errorf("prony: wait for the harness to begin, up to %v: %w", beginWithin, err)
	}
	var message k6run.Begin
	if err := json.Unmarshal(text, &message); err != nil {
		return begin, fmt.Errorf("prony: the harness sent %.80q instead of a begin message: %w", text, err)
	}
	return onMonotonic(time.Now(), message.UnixNS)
}

// onMonotonic converts a time of the host's clock, in ns since 1970, to one with a monotonic
// reading.
func onMonotonic(now time.Time, ns int64) (time.Time, error) {
	away := time.Unix(0, ns).Sub(now.Round(0)) // both without a monotonic reading
	if away.Abs() > beginAway {
		return time.Time{}, fmt.Errorf("prony: the harness begins the load in %v, which is more than %v away", away, beginAway)
	}
	return now.Add(away), nil
}

// Progress sends a report of progress. Call it at most four times a second.
func (c *Conn) Progress(p load.Progress) error { return c.send(k6run.Message{Progress: &p}) }

// Outcome sends the result of the load. It is the last message.
func (c *Conn) Outcome(o *load.Outcome, balance result.Ledger) error {
	encoded, err := k6run.Encode(o, balance)
	if err != nil {
		return fmt.Errorf("prony: %w", err)
	}
	return c.send(k6run.Message{Outcome: encoded})
}

// Close ends the connection.
func (c *Conn) Close() error {
	if err := c.socket.Close(); err != nil {
		return fmt.Errorf("prony: close the connection to the harness: %w", err)
	}
	return nil
}

func (c *Conn) send(m k6run.Message) error {
	text, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("prony: encode a message to the harness: %w", err)
	}
	text = append(text, '\n')
	if len(text) > k6run.MessageBytesMax {
		return fmt.Errorf("prony: a message to the harness has %d bytes, more than %d", len(text), k6run.MessageBytesMax)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.socket.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return fmt.Errorf("prony: send to the harness: %w", err)
	}
	if _, err := c.socket.Write(text); err != nil {
		return fmt.Errorf("prony: send to the harness: %w", err)
	}
	return nil
}

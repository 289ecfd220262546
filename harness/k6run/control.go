package k6run

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// socketBytesMax is a length of socket paths that every kernel accepts.
	socketBytesMax = 100
	// sendTimeout bounds sending one message. A message fits into the socket's buffer.
	sendTimeout = 10 * time.Second
)

// workplace is the temporary folder of one k6 process.
type workplace struct {
	dir      string
	listener *net.UnixListener
}

// newWorkplace creates the folder, listens on its socket, and writes an empty k6 configuration, so
// that the user's k6 configuration does not affect a scenario.
func newWorkplace() (w *workplace, err error) {
	dir, err := os.MkdirTemp("", "prony-k6-")
	if err == nil && len(filepath.Join(dir, socketName)) > socketBytesMax {
		err = os.Remove(dir)
		if err == nil {
			dir, err = os.MkdirTemp("/tmp", "prony-k6-")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make a folder for k6: %w", err)
	}
	w = &workplace{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if err := os.WriteFile(w.config(), []byte("{}\n"), 0o600); err != nil {
		return nil, fmt.Errorf("configure k6: %w", err)
	}
	w.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: w.socket(), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for k6: %w", err)
	}
	return w, nil
}

const socketName = "control"

func (w *workplace) socket() string { return filepath.Join(w.dir, socketName) }
func (w *workplace) config() string { return filepath.Join(w.dir, "config.json") }

// close closes the listener and removes the folder. It is idempotent.
func (w *workplace) close() error {
	var errs []error
	if w.listener != nil {
		if err := w.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, fmt.Errorf("close k6's socket: %w", err))
		}
	}
	if err := os.RemoveAll(w.dir); err != nil {
		errs = append(errs, fmt.Errorf("remove k6's folder: %w", err))
	}
	return errors.Join(errs...)
}

// errEnded means that k6 closed the connection, or that the connection broke.
var errEnded = errors.New("k6 has ended the connection")

// heard is a received message or an error. The error is errEnded at the end of the connection.
type heard struct {
	message Message
	err     error
}

// channel is the harness's side of the socket. Its goroutine receives messages. It ends after the
// last message or the first error, or when close is called.
type channel struct {
	conn     *net.UnixConn
	messages chan heard
	quit     chan struct{} // closed when messages is no longer read
	done     chan struct{}
}

func newChannel(conn *net.UnixConn) *channel {
	c := &channel{conn: conn, messages: make(chan heard), quit: make(chan struct{}), done: make(chan struct{})}
	go c.hear()
	return c
}

func (c *channel) hear() {
	defer close(c.done)
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(make([]byte, 0, 64<<10), MessageBytesMax)
	for {
		var h heard
		switch {
		case lines.Scan():
			h.message, h.err = parse(lines.Bytes())
		case errors.Is(lines.Err(), bufio.ErrTooLong):
			h.err = fmt.Errorf("a message is longer than %d bytes", MessageBytesMax)
		default:
			h.err = errEnded
		}
		select {
		case c.messages <- h:
		case <-c.quit:
			return
		}
		if h.err != nil || h.message.Outcome != nil {
			return
		}
	}
}

// parse decodes a line and checks that it has exactly one message.
func parse(line []byte) (m Message, err error) {
	if err := json.Unmarshal(line, &m); err != nil {
		return Message{}, fmt.Errorf("%.80q is not a message: %w", line, err)
	}
	parts := 0
	for _, there := range []bool{m.Ready != nil, m.Progress != nil, m.Outcome != nil} {
		if there {
			parts++
		}
	}
	if parts != 1 {
		return Message{}, fmt.Errorf("%.80q has %d of ready, progress and outcome, expected one", line, parts)
	}
	return m, nil
}

func (c *channel) send(message any) error {
	line, err := json.Marshal(message)
	if err == nil {
		err = c.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	}
	if err == nil {
		_, err = c.conn.Write(append(line, '\n'))
	}
	return err
}

// close closes the connection and waits for the goroutine to end.
func (c *channel) close() {
	close(c.quit)
	_ = c.conn.Close() // no data is lost: all messages have been sent and received
	<-c.done
}

package netproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// pipeBytes is the size of a connection's buffer in each direction. If the buffer is full, the
	// sender must wait, as with TCP's window.
	pipeBytes = 1 << 20
	// pieceBytesMax is the maximum number of bytes of one read and of one write.
	pieceBytesMax = 32 << 10
)

type piece struct {
	n   int
	due time.Time
}

// pipe is one direction of one connection. One goroutine reads from the sender into the ring, and
// another writes from the ring to the receiver.
type pipe struct {
	direction *direction
	done      <-chan struct{} // closed when the connection is aborted

	mu     sync.Mutex
	change sync.Cond
	ring   []byte
	start  int // offset of the buffered bytes in the ring
	held   int // number of buffered bytes
	pieces []piece
	last   time.Time // due time of the last piece; a later piece must not be due earlier
	ended  bool      // the sender has closed its side, or the connection is aborted
	broken bool      // reading from the sender failed
}

func newPipe(d *direction, done <-chan struct{}) *pipe {
	p := &pipe{direction: d, done: done, ring: make([]byte, pipeBytes)}
	p.change.L = &p.mu
	return p
}

func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.change.Broadcast()
}

func (p *pipe) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = true
}

func (p *pipe) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// free waits for free space in the ring, and returns a contiguous part of this space. It returns
// nil once the pipe has ended.
func (p *pipe) free() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held == len(p.ring) && !p.ended {
		p.change.Wait()
	}
	if p.ended {
		return nil
	}
	from := (p.start + p.held) % len(p.ring)
	to := min(from+len(p.ring)-p.held, len(p.ring), from+pieceBytesMax)
	return p.ring[from:to]
}

func (p *pipe) put(n int) {
	due := p.direction.due()
	p.mu.Lock()
	defer p.mu.Unlock()
	if due.Before(p.last) {
		due = p.last
	}
	p.last = due
	p.held += n
	p.pieces = append(p.pieces, piece{n, due})
	p.change.Broadcast()
}

// next waits for buffered bytes, and returns the first piece and its due time. It returns nil if
// the pipe has ended and is empty.
func (p *pipe) next() ([]byte, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pieces) == 0 && !p.ended {
		p.change.Wait()
	}
	if len(p.pieces) == 0 {
		return nil, time.Time{}
	}
	return p.ring[p.start : p.start+p.pieces[0].n], p.pieces[0].due
}

func (p *pipe) take() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.pieces[0].n
	p.pieces = p.pieces[1:]
	p.start = (p.start + n) % len(p.ring)
	p.held -= n
	p.change.Broadcast()
}

func (p *pipe) read(from net.Conn) {
	defer p.end()
	for {
		into := p.free()
		if into == nil {
			return
		}
		n, err := from.Read(into)
		if n > 0 {
			p.put(n)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.fail()
			}
			return
		}
	}
}

var (
	// errGivenUp ends a pipe whose connection is aborted.
	errGivenUp = errors.New("the connection was aborted")
	// errBroken ends a pipe whose sender broke the connection.
	errBroken = errors.New("the sender broke the connection")
)

// write writes each piece when it is due. When the sender has closed its side, write closes the
// receiver's side. If write returns an error, the caller must abort the connection. An error of the
// receiver is returned only when back passes bytes, so that a cut also hides the end of a
// connection.
func (p *pipe) write(to *net.TCPConn, back *direction) error {
	for {
		bytes, due := p.next()
		if !sleepUntil(due, p.done) || !p.direction.pass(len(bytes), p.done) {
			return errGivenUp
		}
		if bytes == nil {
			if p.failed() {
				return errBroken
			}
			_ = to.CloseWrite() // if it fails, reading in the other direction fails too
			return nil
		}
		if _, err := to.Write(bytes); err != nil {
			if !back.pass(0, p.done) {
				return errGivenUp
			}
			return err
		}
		p.take()
	}
}

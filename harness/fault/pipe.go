package fault

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// pipeBytes is what a connection holds in each direction of what was sent and may not arrive yet. Beyond it the sender
	// has to wait, as with TCP's own window.
	pipeBytes = 1 << 20
	// pieceBytesMax is what is read, and passed on, at once.
	pieceBytesMax = 32 << 10
)

// piece is a stretch of a pipe's ring that was read at once, and when it may arrive.
type piece struct {
	n   int
	due time.Time
}

// pipe carries one direction of a connection. One goroutine reads into its ring, another one writes from it.
type pipe struct {
	flow *flow
	done <-chan struct{} // closed when the connection is given up

	mu     sync.Mutex
	change sync.Cond
	ring   []byte
	start  int // of what is held
	held   int
	pieces []piece
	last   time.Time // when the last piece is due: none may overtake it
	ended  bool      // the sender has closed its side, or the connection is given up
	broken bool      // the sender did not close its side in order
}

func newPipe(f *flow, done <-chan struct{}) *pipe {
	p := &pipe{flow: f, done: done, ring: make([]byte, pipeBytes)}
	p.change.L = &p.mu
	return p
}

// end says that nothing more is read.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.change.Broadcast()
}

// fail says that the sender broke its side off.
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

// room waits for free space in the ring and returns a stretch of it, or nil once the pipe has ended.
func (p *pipe) room() []byte {
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

// put says that n bytes were read into the stretch that room returned.
func (p *pipe) put(n int) {
	due := p.flow.due()
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

// next waits for bytes to pass on and returns a stretch of them, or nil when there will be none.
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

// take says that the first piece was passed on.
func (p *pipe) take() {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.pieces[0].n
	p.pieces = p.pieces[1:]
	p.start = (p.start + n) % len(p.ring)
	p.held -= n
	p.change.Broadcast()
}

// read fills the pipe until the sender closes its side or the connection fails, of which the receiver hears in its turn.
func (p *pipe) read(from net.Conn) {
	defer p.end()
	for {
		into := p.room()
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
	// errGivenUp ends a pipe whose connection is given up.
	errGivenUp = errors.New("the connection is given up")
	// errBroken ends one whose sender broke its side off.
	errBroken = errors.New("the sender broke the connection off")
)

// write empties the pipe, each piece when it may arrive, and tells the receiver when the sender has closed its side. An
// error says that the connection must be given up, and comes when both ends may hear of that.
func (p *pipe) write(to *net.TCPConn, back *flow) error {
	for {
		bytes, due := p.next()
		if !sleepUntil(due, p.done) || !p.flow.pass(len(bytes), p.done) {
			return errGivenUp
		}
		if bytes == nil {
			if p.failed() {
				return errBroken
			}
			_ = to.CloseWrite() // what reads from it finds out what is wrong with it
			return nil
		}
		if _, err := to.Write(bytes); err != nil {
			if !back.pass(0, p.done) {
				return errGivenUp
			}
			return err
		}
		p.flow.add(len(bytes))
		p.take()
	}
}

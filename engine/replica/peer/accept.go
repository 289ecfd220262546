package peer

import (
	"errors"
	"net"
	"time"
)

// The pauses after a failed accept: the system may be out of file descriptors for a while.
const (
	acceptPause    = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

// accept takes connections in until the listener is closed.
func (m *Mux) accept() {
	pause := acceptPause
	for {
		raw, err := m.listener.Accept()
		switch {
		case m.ctx.Err() != nil:
			if err == nil {
				_ = raw.Close() // the mux is closed
			}
			return
		case err != nil:
			m.problems.warn("can't accept a connection of a peer: trying again", "error", err)
			select {
			case <-m.ctx.Done():
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, acceptPauseMax)
			continue
		}
		pause = acceptPause
		select {
		case m.slots <- struct{}{}:
			m.running.Go(func() { m.welcome(raw) })
		default:
			m.refused.Add(1)
			m.problems.warn("closed a connection of a peer: too many handshakes are under way", "remote", raw.RemoteAddr().String(), "handshakes_max", m.bounds.handshakes)
			_ = raw.Close() // it was not used
		}
	}
}

// welcome makes the handshake of an incoming connection and hands it to those whom it is for. It runs in a slot, which it
// leaves after the handshake.
func (m *Mux) welcome(raw net.Conn) {
	c := &conn{Conn: raw, raw: raw, mux: m}
	err := m.keep(c)
	if err == nil {
		err = m.receive(c)
	}
	<-m.slots
	if err != nil {
		_ = c.abort() // the handshake's error counts
		m.tellRefused("refused a peer's connection", err, "remote", raw.RemoteAddr().String())
		return
	}
	m.accepted.Add(1)
	if err := c.layer.hand(c); err != nil {
		_ = c.abort() // hand's error counts
		m.tellRefused("dropped a peer's connection", err, "remote", raw.RemoteAddr().String(), "node", c.node, "for", c.layer.place.String())
	}
}

// tellRefused counts and logs a failed handshake, or says nothing when the mux is being closed.
func (m *Mux) tellRefused(what string, err error, about ...any) {
	if m.ctx.Err() != nil {
		return
	}
	m.refused.Add(1)
	if errors.Is(err, errNothingSaid) {
		m.log.Debug(what, append(about, "error", err)...) // a load balancer that looks whether the port is open
		return
	}
	m.problems.tell(what, err, about...)
}

// receive makes the handshake of an incoming connection, which is bounded in time.
func (m *Mux) receive(c *conn) error {
	deadline := time.Now().Add(m.bounds.handshake)
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	encrypted, err := m.encrypt(m.ctx, c.raw)
	if err != nil {
		return err
	}
	c.Conn = encrypted
	from, l, err := m.answer(encrypted, deadline)
	if err != nil {
		return err
	}
	if err := c.belong(from, l); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

package peer

import (
	"errors"
	"net"
	"time"
)

// After a failed accept, the listener pauses before the next one: the system may temporarily lack
// file descriptors.
const (
	acceptPause    = 5 * time.Millisecond
	acceptPauseMax = time.Second
)

func (m *Mux) accept() {
	pause := acceptPause
	for {
		raw, err := m.listener.Accept()
		switch {
		case m.ctx.Err() != nil:
			if err == nil {
				_ = raw.Close() // the mux is closed, so the error does not matter
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
			m.running.Go(func() { m.acceptConn(raw) })
		default:
			m.refused.Add(1)
			m.problems.warn("closed a connection of a peer: too many handshakes are in progress", "remote", raw.RemoteAddr().String(), "handshakes_max", m.bounds.handshakes)
			_ = raw.Close() // nothing was sent on it, so the error does not matter
		}
	}
}

// acceptConn performs the handshake of an incoming connection and passes the connection to its
// layer. It releases its slot after the handshake.
func (m *Mux) acceptConn(raw net.Conn) {
	c := &conn{Conn: raw, raw: raw, mux: m}
	err := m.keep(c)
	if err == nil {
		err = m.serverHandshake(c)
	}
	<-m.slots
	if err != nil {
		_ = c.abort() // only the handshake's error is logged
		m.logRefused("refused a peer's connection", err, "remote", raw.RemoteAddr().String())
		return
	}
	m.accepted.Add(1)
	if err := c.layer.deliver(c); err != nil {
		_ = c.abort() // only the error of deliver is logged
		m.logRefused("dropped a peer's connection", err, "remote", raw.RemoteAddr().String(), "node", c.node, "for", c.layer.place.String())
	}
}

// logRefused counts and logs a failed handshake, unless the mux is closing.
func (m *Mux) logRefused(what string, err error, about ...any) {
	if m.ctx.Err() != nil {
		return
	}
	m.refused.Add(1)
	if errors.Is(err, errNothingSent) {
		// The other side sent nothing. For example, a load balancer checks whether the port is
		// open.
		m.log.Debug(what, append(about, "error", err)...)
		return
	}
	m.problems.refusal(what, err, about...)
}

// serverHandshake performs the handshake of an incoming connection. It takes at most
// bounds.handshake.
func (m *Mux) serverHandshake(c *conn) error {
	deadline := time.Now().Add(m.bounds.handshake)
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	encrypted, err := m.serverTLS(m.ctx, c.raw)
	if err != nil {
		return err
	}
	c.Conn = encrypted
	from, l, err := m.serverHello(encrypted, deadline)
	if err != nil {
		return err
	}
	if err := c.assign(from, l); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

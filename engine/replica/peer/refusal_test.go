package peer

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRefusalsAreToldToBothSides(t *testing.T) {
	for name, c := range map[string]struct {
		dialer string
		change func(*Config, *bounds)
		to     string
		group  uint16
		code   Code
		want   string
	}{
		"wrong node": {dialer: "n1", to: "n3", code: CodeNode, want: "this is node n2, but node n1 dialed node n3"},
		"another node's certificate": {
			dialer: "n1", change: func(c *Config, _ *bounds) { c.Credentials = credentials(t, "n3") },
			to: "n2", code: CodeCertificate, want: `the dialer claims to be node n1, but its certificate is for n3`,
		},
		"unknown group":                      {dialer: "n1", to: "n2", group: 5, code: CodePlace, want: "node n2 does not take connections for group 5"},
		"duplicate node id":                  {dialer: "n2", to: "n2", code: CodeDuplicate, want: "two processes claim to be node n2"},
		"duplicate node id, any node dialed": {dialer: "n2", code: CodeDuplicate, want: "two processes claim to be node n2"},
		"wrong node and unknown group":       {dialer: "n1", to: "n3", group: 5, code: CodeNode, want: "dialed node n3"},
	} {
		t.Run(name, func(t *testing.T) {
			var changes []func(*Config, *bounds)
			if c.change != nil {
				changes = append(changes, c.change)
			}
			a, b := start(t, c.dialer, changes...), start(t, "n2")
			b.Group(0)
			address := raft.ServerAddress(b.Addr())
			if c.to != "" {
				address = joinAddress(c.to, b.Addr())
			}
			conn, err := a.Group(c.group).Dial(address, patience)
			require.ErrorContains(t, err, c.want)
			assert.Nil(t, conn)
			refused := (*RefusedError)(nil)
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, c.code, refused.Code)
			assert.True(t, refused.Remote)
			assert.Contains(t, a.log.String(), c.want)
			level := "level=WARN"
			if c.code == CodePlace { // normal while a node starts or stops
				level = "level=INFO"
			}
			assert.Contains(t, a.log.String(), level)
			b.logs(level, c.want)
			b.refusals(1)
			assert.EqualValues(t, 1, a.Counters().Refused)
			assert.Zero(t, a.Counters().Open)
			assert.Zero(t, b.Counters().Open)
		})
	}
}

func TestCallsAreRefusedUntilTheyAreTaken(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	_, err := a.DialCalls(within(t), "n2", b.Addr())
	require.ErrorContains(t, err, "does not take connections for calls")
}

func TestADialerWithoutTheNameOfANode(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	for _, node := range []string{"N2", "n 2", string(bytes.Repeat([]byte("n"), 300))} {
		_, err := a.Group(0).Dial(joinAddress(node, b.Addr()), patience)
		require.ErrorContains(t, err, "is not a node id")
	}
}

// The dialers do not send a TLS handshake.
func TestOthersThanPeers(t *testing.T) {
	b := start(t, "n2")
	for name, text := range map[string]string{
		"HTTP":                           "GET / HTTP/1.1\r\n\r\n",
		"a node of the previous version": magic + "\x01h\x00\x00",
	} {
		before := b.Counters().Refused
		c := b.raw()
		_, err := c.Write([]byte(text))
		require.NoError(t, err, name)
		b.refusals(before + 1)
		ended(t, c)
	}
	b.logs("level=WARN", "the other side does not speak TLS: it is not a node, or a node of a version before certificates")
}

// The dialer has a valid certificate but sends an invalid handshake.
func TestMalformedHandshakes(t *testing.T) {
	b := start(t, "n2", func(_ *Config, b *bounds) { b.linger = time.Millisecond })
	good := hello{place: place{purpose: forCalls}, from: "n1", to: "n2"}
	next := good.frame()
	next.raw[4] = version + 1
	long := good.frame()
	long.raw[6] = 255
	bad := good
	bad.from = "N1"
	purposeless := good
	purposeless.place.purpose = 9
	for name, c := range map[string]struct {
		text []byte
		code Code   // accepted: no verdict is expected
		log  string // the expected log of the listener
	}{
		"HTTP":            {[]byte("GET / HTTP/1.1\r\n\r\n"), accepted, "it begins with"},
		"another version": {next.raw, CodeVersion, "version 3"},
		"too long":        {long.raw, CodeMalformed, "malformed"},
		"no hello":        {verdict{node: "n1"}.frame().raw, CodeMalformed, "malformed"},
		"a bad node id":   {bad.frame().raw, CodeMalformed, "N1"},
		"no purpose":      {purposeless.frame().raw, CodeMalformed, "invalid purpose of the connection"},
		"trailing byte":   {makeFrame(kindHello, append(good.frame().body, 0)).raw, CodeMalformed, "malformed"},
	} {
		before := b.Counters().Refused
		conn := b.tls("n1")
		_, err := conn.Write(c.text)
		require.NoError(t, err, name)
		b.refusals(before + 1)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		answer, err := io.ReadAll(conn)
		if err != nil { // the listener did not read everything that was sent
			require.NotErrorIs(t, err, io.EOF, name)
		}
		b.logs(c.log)
		if c.code == accepted {
			assert.Empty(t, answer, name)
			continue
		}
		f, err := readFrame(bytes.NewReader(answer))
		require.NoError(t, err, name)
		v, err := parseVerdict(f)
		require.NoError(t, err, name)
		assert.Equal(t, c.code, v.code, name)
		assert.Equal(t, "n2", v.node, name)
		assert.Len(t, answer, len(f.raw), name)
	}
}

func TestWhoSaysNothingIsClosed(t *testing.T) {
	b := start(t, "n2", func(_ *Config, b *bounds) { b.handshake = 50 * time.Millisecond })
	for _, text := range []string{"", "\x16", "\x16\x03\x01\x00\xff"} {
		before := b.Counters().Refused
		c := b.raw()
		_, err := c.Write([]byte(text))
		require.NoError(t, err)
		ended(t, c)
		b.refusals(before + 1)
	}
	b.logs("i/o timeout")
	before := b.Counters().Refused
	require.NoError(t, b.raw().Close())
	b.refusals(before + 1)
	b.logs("level=DEBUG")
}

// The connection is closed in the middle of a TLS record.
func TestAHandshakeThatBreaksOffIsNotACertificateProblem(t *testing.T) {
	b := start(t, "n2")
	c := b.raw()
	_, err := c.Write([]byte("\x16\x03\x01\x00\xff\x01"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	b.refusals(1)
	b.logs("TLS handshake: unexpected EOF")
	assert.NotContains(t, b.log.String(), "certificate")
}

func TestNoMoreHandshakesThanTheBound(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2", func(_ *Config, b *bounds) { b.handshakes = 2; b.handshake = patience })
	calls := b.Calls()
	first, second := b.raw(), b.raw()
	require.Eventually(t, func() bool { return len(b.slots) == 2 }, patience, time.Millisecond)
	ended(t, b.raw())
	b.logs("too many handshakes are in progress")
	b.refusals(1)
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return len(b.slots) == 1 }, patience, time.Millisecond)
	out, err := a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err)
	exchange(t, out, accept(t, calls))
	require.NoError(t, second.Close())
}

func TestWhatNobodyAcceptsIsClosed(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2", func(_ *Config, b *bounds) { b.handoff = 10 * time.Millisecond })
	b.Group(0)
	c, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	ended(t, c)
	b.logs("the connection was not accepted", "node=n1", `for="group 0"`)

	b = start(t, "n3", func(_ *Config, b *bounds) { b.handoff, b.handoffs = patience, 1 })
	l := b.Group(0)
	first, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return l.(*layer).waiting.Load() == 1 }, patience, time.Millisecond)
	second, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	ended(t, second)
	b.logs("too many connections wait to be accepted: expected at most 1")
	exchange(t, first, accept(t, l))
}

func TestConnectionsAreBounded(t *testing.T) {
	a, b := start(t, "n1", func(_ *Config, b *bounds) { b.conns = 1 }), start(t, "n2")
	calls := b.Calls()
	out, err := a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err)
	accept(t, calls)
	_, err = a.DialCalls(within(t), "n2", b.Addr())
	require.ErrorContains(t, err, "too many open connections: expected at most 1")
	require.NoError(t, out.Close())
	out, err = a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err)
	exchange(t, out, accept(t, calls))
}

// Invalid verdicts are sent to a dialer over TLS, with a certificate of the CA.
func TestWhatAListenerMustAnswer(t *testing.T) {
	a := start(t, "n1")
	next := verdict{code: 77, node: "n2", reason: "too old"}.frame()
	next.raw[4] = 9
	for name, c := range map[string]struct {
		answer []byte
		want   string
	}{
		"another node's name": {verdict{code: accepted, node: "n2"}.frame().raw, `the listener claims to be node n2, but its certificate is for n3`},
		"another node":        {verdict{code: accepted, node: "n3"}.frame().raw, "found node n3 instead of node n2"},
		"no verdict":          {hello{from: "n3"}.frame().raw, "malformed"},
		"no name":             {verdict{code: accepted}.frame().raw, "malformed"},
		"HTTP":                {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "does not begin the handshake of a peer"},
		"unprintable reason":  {verdict{code: CodeNode, node: "n3", reason: "\x1b[2J\n"}.frame().raw, "malformed"},
		"newer release":       {next.raw, "refused (code 77): too old"},
		"nothing":             {nil, "closed the connection without an answer"},
	} {
		own := credentials(t, "n3")()
		l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own.Certificate}})
		require.NoError(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if !assert.NoError(t, err) {
				return
			}
			_, err = readFrame(conn)
			assert.NoError(t, err)
			_, err = conn.Write(c.answer)
			assert.NoError(t, err)
			_ = conn.(*tls.Conn).CloseWrite() // the dialer may have closed it already
			_, _ = io.Copy(io.Discard, conn)  // until the dialer closes it
			_ = conn.Close()
		}()
		_, err = a.DialCalls(within(t), "n2", l.Addr().String())
		require.ErrorContains(t, err, c.want, name)
		<-done
		require.NoError(t, l.Close())
	}
	assert.Zero(t, a.Counters().Open)
}

// The listener closes connections with unread input, like one with too many handshakes.
func TestAListenerThatResetsTheConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if !assert.NoError(t, err) {
			return
		}
		_, err = conn.Read(make([]byte, 1))
		assert.NoError(t, err)
		assert.NoError(t, conn.Close())
	}()
	_, err = start(t, "n1").DialCalls(within(t), "n2", l.Addr().String())
	require.ErrorIs(t, err, errNoAnswer)
	<-done
	require.NoError(t, l.Close())
}

// A relay connects the dialer to another node of the same cluster.
func TestARelayedHandshakeNamesWhoIsMeant(t *testing.T) {
	a, c := start(t, "n1"), start(t, "n3")
	c.Calls()
	relay, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		in, err := relay.Accept()
		if !assert.NoError(t, err) {
			return
		}
		out, err := net.Dial("tcp", c.Addr())
		if !assert.NoError(t, err) {
			return
		}
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(in, out) // until one of them ends
			_ = in.Close()
		}()
		_, _ = io.Copy(out, in) // until one of them ends
		_ = out.Close()
		<-back
	}()
	_, err = a.DialCalls(within(t), "n2", relay.Addr().String())
	require.ErrorContains(t, err, "this is node n3, but node n1 dialed node n2")
	require.NoError(t, relay.Close())
	<-done
}

// Failed handshakes must not fill the log.
func TestLinesAreBounded(t *testing.T) {
	var out strings.Builder
	l := newProblemLog(slog.New(slog.NewTextHandler(&out, nil)))
	for range linesMax + 3 {
		l.warn("a handshake failed")
	}
	assert.Equal(t, linesMax, strings.Count(out.String(), "a handshake failed"))
}

func TestErrorsAreTold(t *testing.T) {
	err := error(refuse(CodeNode, "%300s", "x"))
	assert.Len(t, err.(*RefusedError).Reason, reasonMax) //nolint:errorlint // as it is
	assert.True(t, isRefused(errors.Join(err)))
	assert.Equal(t, "code 200", Code(200).String())
}

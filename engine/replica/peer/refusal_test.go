package peer

import (
	"bytes"
	"errors"
	"io"
	"net"
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
		"another node is meant": {dialer: "n1", to: "n3", code: CodeNode, want: "this is node n2, and node n1 means node n3"},
		"another secret": {
			dialer: "n1", change: func(c *Config, _ *bounds) { c.Secret = bytes.Repeat([]byte("other"), 8) },
			to: "n2", code: CodeSecret, want: "nodes n2 and n1 have different cluster secrets",
		},
		"no secret":           {dialer: "n1", change: func(c *Config, _ *bounds) { c.Secret = nil }, to: "n2", code: CodeSecret, want: "has a cluster secret, the other has none"},
		"unknown group":       {dialer: "n1", to: "n2", group: 5, code: CodePlace, want: "node n2 does not take connections for group 5"},
		"a node's id twice":   {dialer: "n2", to: "n2", code: CodeDuplicate, want: "two processes say that they are node n2"},
		"the same, whoever":   {dialer: "n2", code: CodeDuplicate, want: "two processes say that they are node n2"},
		"unknown and another": {dialer: "n1", to: "n3", group: 5, code: CodeNode, want: "means node n3"},
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
			if c.code == CodePlace { // a node that starts or stops
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
		require.ErrorContains(t, err, "node id")
	}
}

// TestOthersThanPeers sends what is no handshake.
func TestOthersThanPeers(t *testing.T) {
	b := start(t, "n2", func(_ *Config, b *bounds) { b.linger = time.Millisecond })
	good := hello{flags: flagSecret, place: place{purpose: forCalls}, from: "n1", to: "n2"}
	next := good.frame()
	next.raw[4] = version + 1
	long := good.frame()
	long.raw[6] = 255
	bad := good
	bad.from = "N1"
	purposeless := good
	purposeless.place.purpose = 9
	proof := makeFrame(kindProof, make([]byte, proofLen))
	for name, c := range map[string]struct {
		text []byte
		code Code   // accepted: no verdict is told
		log  string // what is said here
	}{
		"HTTP":             {[]byte("GET / HTTP/1.1\r\n\r\n"), accepted, "it begins with"},
		"TLS":              {[]byte{0x16, 3, 1, 0, 200, 1}, accepted, "TLS is off here"},
		"another version":  {next.raw, CodeVersion, "version 2"},
		"too long":         {long.raw, CodeMalformed, "malformed"},
		"no hello":         {proof.raw, CodeMalformed, "malformed"},
		"a bad node id":    {bad.frame().raw, CodeMalformed, "N1"},
		"for what":         {purposeless.frame().raw, CodeMalformed, "what the connection is for"},
		"more than enough": {makeFrame(kindHello, append(good.frame().body, 0)).raw, CodeMalformed, "malformed"},
		"no proof":         {append(good.frame().raw, good.frame().raw...), CodeMalformed, "malformed"},
		"a wrong proof":    {append(good.frame().raw, proof.raw...), CodeSecret, "different cluster secrets"},
	} {
		before := b.Counters().Refused
		conn := b.raw()
		_, err := conn.Write(c.text)
		require.NoError(t, err, name)
		b.refusals(before + 1)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
		answer, err := io.ReadAll(conn)
		if err != nil { // it sent more than was read of it
			require.NotErrorIs(t, err, io.EOF, name)
		}
		b.logs(c.log)
		if c.code == accepted {
			assert.Empty(t, answer, name)
			continue
		}
		r := bytes.NewReader(answer)
		f, err := readFrame(r)
		require.NoError(t, err, name)
		if f.kind == kindChallenge {
			f, err = readFrame(r)
			require.NoError(t, err, name)
		}
		v, err := parseVerdict(f)
		require.NoError(t, err, name)
		assert.Equal(t, c.code, v.code, name)
		assert.Zero(t, r.Len(), name)
		assert.NotContains(t, string(answer), string(secret))
	}
	assert.NotContains(t, b.log.String(), string(secret))
}

func TestWhoSaysNothingIsClosed(t *testing.T) {
	b := start(t, "n2", func(_ *Config, b *bounds) { b.handshake = 50 * time.Millisecond })
	for _, text := range []string{"", "P", magic, string(hello{flags: flagSecret, place: place{purpose: forCalls}, from: "n1"}.frame().raw)} {
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

func TestNoMoreHandshakesThanTheBound(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2", func(_ *Config, b *bounds) { b.handshakes = 2; b.handshake = patience })
	calls := b.Calls()
	first, second := b.raw(), b.raw()
	require.Eventually(t, func() bool { return len(b.slots) == 2 }, patience, time.Millisecond)
	ended(t, b.raw())
	b.logs("too many handshakes are under way")
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
	b.logs("nobody accepted it", "node=n1", `for="group 0"`)

	b = start(t, "n3", func(_ *Config, b *bounds) { b.handoff, b.handoffs = patience, 1 })
	l := b.Group(0)
	first, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return l.(*layer).waiting.Load() == 1 }, patience, time.Millisecond)
	second, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	ended(t, second)
	b.logs("1 connections wait")
	exchange(t, first, accept(t, l))
}

func TestConnectionsAreBounded(t *testing.T) {
	a, b := start(t, "n1", func(_ *Config, b *bounds) { b.conns = 1 }), start(t, "n2")
	calls := b.Calls()
	out, err := a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err)
	accept(t, calls)
	_, err = a.DialCalls(within(t), "n2", b.Addr())
	require.ErrorContains(t, err, "1 connections are open, which is the most")
	require.NoError(t, out.Close())
	out, err = a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err)
	exchange(t, out, accept(t, calls))
}

// TestAListenerMustProveItself answers a dialer with all that can be known without the secret.
func TestAListenerMustProveItself(t *testing.T) {
	a := start(t, "n1")
	for name, c := range map[string]struct {
		answer func(t *testing.T, c net.Conn)
		want   string
	}{
		"a verdict at once": {func(t *testing.T, c net.Conn) { send(t, c, verdict{code: accepted}.frame()) }, "does not know the cluster's secret"},
		"a proof of zeros": {func(t *testing.T, c net.Conn) {
			send(t, c, challenge{flags: flagSecret, nonce: newNonce(), node: "n2"}.frame())
			_, err := readFrame(c)
			require.NoError(t, err)
			send(t, c, verdict{code: accepted}.frame())
		}, "does not know the cluster's secret"},
		"the dialer's proof": {func(t *testing.T, c net.Conn) {
			send(t, c, challenge{flags: flagSecret, nonce: newNonce(), node: "n2"}.frame())
			f, err := readFrame(c)
			require.NoError(t, err)
			p, err := parseProof(f)
			require.NoError(t, err)
			send(t, c, verdict{code: accepted, proof: p}.frame())
		}, "does not know the cluster's secret"},
		"it has no secret": {func(t *testing.T, c net.Conn) { send(t, c, challenge{nonce: newNonce(), node: "n2"}.frame()) }, "no cluster secret"},
		"no challenge":     {func(t *testing.T, c net.Conn) { send(t, c, makeFrame(kindProof, make([]byte, proofLen))) }, "malformed"},
		"HTTP": {func(t *testing.T, c net.Conn) {
			_, err := c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			require.NoError(t, err)
		}, "no handshake of a peer"},
		"TLS": {func(t *testing.T, c net.Conn) {
			_, err := c.Write([]byte{0x15, 3, 3, 0, 2, 2, 70})
			require.NoError(t, err)
		}, "TLS is off here"},
		"a reason to fill the log with": {func(t *testing.T, c net.Conn) {
			send(t, c, verdict{code: CodeNode, reason: "\x1b[2J\n"}.frame())
		}, "malformed"},
		"a release to come": {func(t *testing.T, c net.Conn) {
			f := verdict{code: 77, reason: "too old"}.frame()
			f.raw[4] = 9
			send(t, c, f)
		}, "refused (code 77): too old"},
		"nothing": {func(*testing.T, net.Conn) {}, "closed the connection without an answer"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
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
			c.answer(t, conn)
			_ = conn.(*net.TCPConn).CloseWrite() // the dialer may have closed it
			_, _ = io.Copy(io.Discard, conn)     // until the dialer closes it
			assert.NoError(t, conn.Close())
		}()
		_, err = a.DialCalls(within(t), "n2", l.Addr().String())
		require.ErrorContains(t, err, c.want, name)
		<-done
		require.NoError(t, l.Close())
	}
	assert.Zero(t, a.Counters().Open)
	assert.NotContains(t, a.log.String(), string(secret))
}

func send(t *testing.T, c net.Conn, f frame) {
	t.Helper()
	_, err := c.Write(f.raw)
	require.NoError(t, err)
}

// TestARelayedHandshakeNamesWhoIsMeant passes a dialer on to another node of the same cluster.
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
	require.ErrorContains(t, err, "this is node n3, and node n1 means node n2")
	require.NoError(t, relay.Close())
	<-done
}

// TestAnOldHandshakeCantBePlayedAgain records one that succeeded.
func TestAnOldHandshakeCantBePlayedAgain(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2", func(_ *Config, b *bounds) { b.linger = time.Millisecond })
	calls := b.Calls()
	tape := &recorder{}
	relay, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		in, err := relay.Accept()
		if !assert.NoError(t, err) {
			return
		}
		out, err := net.Dial("tcp", b.Addr())
		if !assert.NoError(t, err) {
			return
		}
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(in, out) // until one of them ends
			_ = in.Close()
		}()
		_, _ = io.Copy(io.MultiWriter(out, tape), in) // until one of them ends
		_ = out.Close()
		<-back
	}()
	good, err := a.DialCalls(within(t), "n2", relay.Addr().String())
	require.NoError(t, err)
	require.NoError(t, accept(t, calls).Close())
	require.NoError(t, good.Close())
	require.NoError(t, relay.Close())
	<-done
	assert.NotContains(t, tape.String(), string(secret))

	again := b.raw()
	_, err = again.Write([]byte(tape.String()))
	require.NoError(t, err)
	b.logs("different cluster secrets")
	ended(t, again)
	assert.EqualValues(t, 1, b.Counters().Accepted)
}

type recorder struct{ journal }

func TestLinesAreBounded(t *testing.T) {
	var l lines
	now := time.Now()
	for range linesMax {
		unsaid, ok := l.take(now)
		assert.True(t, ok)
		assert.Zero(t, unsaid)
	}
	for range 3 {
		_, ok := l.take(now.Add(linesPeriod - 1))
		assert.False(t, ok)
	}
	unsaid, ok := l.take(now.Add(linesPeriod))
	assert.True(t, ok)
	assert.Equal(t, 3, unsaid)
}

func TestErrorsAreTold(t *testing.T) {
	err := error(refuse(CodeNode, "%300s", "x"))
	assert.Len(t, err.(*RefusedError).Reason, reasonMax) //nolint:errorlint // as it is
	assert.True(t, isRefused(errors.Join(err)))
	assert.Equal(t, "code 200", Code(200).String())
}

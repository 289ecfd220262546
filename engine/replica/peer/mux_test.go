package peer

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConnectionsComeOutWhereTheyAreMeantFor(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	g3, g4, calls := b.Group(3), b.Group(4), b.Calls()
	for _, l := range []struct {
		listener net.Listener
		dial     func() (net.Conn, error)
	}{
		{g4, func() (net.Conn, error) { return a.Group(4).Dial(b.to(), patience) }},
		{calls, func() (net.Conn, error) { return a.DialCalls(within(t), "n2", b.Addr()) }},
		{g3, func() (net.Conn, error) { return a.Group(3).Dial(b.to(), 0) }},
		{g3, func() (net.Conn, error) { return a.Group(3).Dial(raft.ServerAddress(b.Addr()), patience) }},
		{calls, func() (net.Conn, error) { return a.DialCalls(context.Background(), "", b.Addr()) }},
	} {
		out, err := l.dial()
		require.NoError(t, err)
		in := accept(t, l.listener)
		exchange(t, out, in)
		assert.Equal(t, "n1", in.RemoteAddr().(Addr).Node)
		assert.Equal(t, "n2", out.RemoteAddr().(Addr).Node)
		assert.Equal(t, b.Addr(), out.RemoteAddr().String())
		assert.EqualValues(t, 1, a.Counters().Open)
		require.NoError(t, out.Close())
		ended(t, in)
		require.NoError(t, in.Close())
		assert.Zero(t, a.Counters().Open)
		assert.Zero(t, b.Counters().Open)
	}
	assert.EqualValues(t, 5, a.Counters().Dialed)
	assert.EqualValues(t, 5, b.Counters().Accepted)
	assert.Zero(t, b.Counters().Refused)
}

func TestWhatFollowsTheHandshakeAtOnceIsNotLost(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	l := b.Group(0)
	c, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	_, err = c.Write([]byte("early"))
	require.NoError(t, err)
	in := accept(t, l)
	require.NoError(t, in.SetReadDeadline(time.Now().Add(patience)))
	got := make([]byte, 16)
	n, err := in.Read(got)
	require.NoError(t, err)
	assert.Equal(t, "early", string(got[:n]))
}

// The test waits for longer than the handshake bound.
func TestNoDeadlineOfTheHandshakeRemains(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2", func(_ *Config, b *bounds) { b.handshake = 50 * time.Millisecond })
	l := b.Group(0)
	var out net.Conn
	require.Eventually(t, func() (ok bool) { // a busy host may exceed the bound
		var err error
		out, err = a.Group(0).Dial(b.to(), patience)
		return err == nil
	}, patience, time.Millisecond)
	in := accept(t, l)
	// A silent dialer is closed at its deadline, which is after that of the connection in use.
	ended(t, b.raw())
	exchange(t, in, out)
}

func TestCloseOfAGroupClosesItsConnectionsOnly(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	g1, g2, calls := b.Group(1), b.Group(2), b.Calls()
	assert.Same(t, g1, b.Group(1))
	out1, err := a.Group(1).Dial(b.to(), patience)
	require.NoError(t, err)
	out2, err := a.Group(2).Dial(b.to(), patience)
	require.NoError(t, err)
	out3, err := a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err)
	accept(t, g1)
	in2, in3 := accept(t, g2), accept(t, calls)

	failed := make(chan error, 1)
	go func() {
		_, err := g1.Accept()
		failed <- err
	}()
	require.NoError(t, g1.Close())
	require.NoError(t, g1.Close())
	require.ErrorIs(t, <-failed, net.ErrClosed)
	_, err = g1.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	ended(t, out1)
	_, err = a.Group(1).Dial(b.to(), patience)
	require.ErrorContains(t, err, "does not take connections for group 1")
	exchange(t, out2, in2)

	// A gRPC server closes its listener first, and its connections after their calls have ended.
	require.NoError(t, calls.Close())
	exchange(t, out3, in3)

	again := b.Group(1)
	assert.NotSame(t, g1, again)
	out1, err = a.Group(1).Dial(b.to(), patience)
	require.NoError(t, err)
	exchange(t, out1, accept(t, again))

	// Closing a group also closes connections that it dialed.
	require.NoError(t, a.Group(2).Close())
	ended(t, in2)
}

func TestAClosedLayerDialsNoMore(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	b.Group(0)
	l := a.Group(0)
	require.NoError(t, l.Close())
	_, err := l.Dial(b.to(), patience)
	require.ErrorIs(t, err, net.ErrClosed)
	assert.Zero(t, a.Counters().Open)
}

func TestCloseEndsEverything(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	g, calls := b.Group(0), b.Calls()
	out, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	accept(t, g)
	called, err := a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err)
	accept(t, calls)
	silent := b.raw()
	waiting, err := a.Group(0).Dial(b.to(), patience) // Accept is not called for it
	require.NoError(t, err)

	// This dial gets no answer.
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer deaf.Close() //nolint:errcheck // the test's own
	dialed := make(chan error, 1)
	go func() {
		_, err := b.Group(7).Dial(raft.ServerAddress(deaf.Addr().String()), time.Hour)
		dialed <- err
	}()
	held, err := deaf.Accept()
	require.NoError(t, err)
	defer held.Close() //nolint:errcheck // the test's own

	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-dialed, net.ErrClosed)
	for _, c := range []net.Conn{out, called, silent, waiting} {
		ended(t, c)
	}
	for _, l := range []net.Listener{g, calls, b.Group(0), b.Calls()} {
		_, err := l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	}
	_, err = b.DialCalls(context.Background(), "n1", a.Addr())
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = net.Dial("tcp", b.Addr())
	require.Error(t, err)
	assert.Zero(t, b.Counters().Open)
	assert.NotContains(t, b.log.String(), "WARN", "closing is not a problem")
}

func TestADialEndsWithItsContext(t *testing.T) {
	a := start(t, "n1")
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer deaf.Close() //nolint:errcheck // the test's own
	ctx, cancel := context.WithCancel(context.Background())
	dialed := make(chan error, 1)
	go func() {
		_, err := a.DialCalls(ctx, "n2", deaf.Addr().String())
		dialed <- err
	}()
	held, err := deaf.Accept()
	require.NoError(t, err)
	defer held.Close() //nolint:errcheck // the test's own
	cancel()
	require.ErrorIs(t, <-dialed, context.Canceled)

	_, err = a.Group(0).Dial(raft.ServerAddress(deaf.Addr().String()), 10*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Zero(t, a.Counters().Open)
}

// The host drops all packets.
func TestCloseEndsADialThatDoesNotConnect(t *testing.T) {
	a := start(t, "n1")
	begun := make(chan struct{})
	a.connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	dialed := make(chan error, 1)
	go func() {
		_, err := a.DialCalls(within(t), "n2", "192.0.2.1:1")
		dialed <- err
	}()
	<-begun
	require.NoError(t, a.Close())
	err := <-dialed
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorIs(t, err, context.Canceled)
}

func TestAddressesComeFromThePeersThenFromTheMembers(t *testing.T) {
	b := start(t, "n2")
	elsewhere := "192.0.2.1:1"
	a := start(t, "n1", func(c *Config, _ *bounds) {
		c.Peers = map[string]string{"n1": "192.0.2.2:1", "n2": b.Addr()}
		c.Advertise = "one.example:0"
	})
	_, port, err := net.SplitHostPort(a.listener.Addr().String())
	require.NoError(t, err)
	assert.Equal(t, "one.example:"+port, a.Addr())
	assert.Equal(t, a.Addr(), a.Group(0).Addr().String())
	address, err := a.ServerAddr("n1")
	require.NoError(t, err)
	assert.Equal(t, raft.ServerAddress(a.Addr()), address, "this node's own address is the advertised one")

	_, err = a.ServerAddr("n3")
	require.ErrorContains(t, err, `node "n3"`)
	_, err = a.DialCalls(context.Background(), "n3", "")
	require.ErrorContains(t, err, "unknown address")
	members := map[string]string{"n2": elsewhere, "n3": b.Addr()}
	a.SetMembers(members)
	members["n3"] = elsewhere // the mux has its own copy

	calls, g := b.Calls(), b.Group(0)
	out, err := a.DialCalls(within(t), "n2", elsewhere)
	require.NoError(t, err, "the configured peers take precedence")
	exchange(t, out, accept(t, calls))
	address, err = a.ServerAddr("n2")
	require.NoError(t, err)
	out, err = a.Group(0).Dial(address, patience)
	require.NoError(t, err)
	exchange(t, out, accept(t, g))

	// The given address of n3 is that of n2.
	address, err = a.ServerAddr("n3")
	require.NoError(t, err)
	_, err = a.Group(0).Dial(address, patience)
	require.ErrorContains(t, err, "this is node n2, but node n1 dialed node n3")
	_, err = a.DialCalls(within(t), "n3", "")
	require.ErrorContains(t, err, "this is node n2, but node n1 dialed node n3")
	a.SetMembers(nil)
	_, err = a.ServerAddr("n3")
	require.Error(t, err)
}

func TestANodeReachesItself(t *testing.T) {
	a := start(t, "n1")
	calls := a.Calls()
	out, err := a.DialCalls(within(t), "n1", a.Addr())
	require.NoError(t, err)
	exchange(t, out, accept(t, calls))
}

package node

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/rpc/call"
)

// boundedPipes are conns without sockets.
type boundedPipes struct {
	*testing.T
	*conns
}

func bound(t *testing.T) boundedPipes {
	t.Helper()
	return boundedPipes{t, newConns(memory.Shares{Connections: 16, OutboxBytes: 1 << 20}, 1<<20, slog.New(slog.DiscardHandler))}
}

// connect returns the server's end of a new connection, or nil if it was refused, and the client's
// end.
func (b boundedPipes) connect() (server *conn, client net.Conn) {
	b.Helper()
	inner, client := net.Pipe()
	b.Cleanup(func() { _ = client.Close() })
	return b.admit(inner, false), client
}

// open reports whether a connection is still open.
func open(client net.Conn) bool {
	_ = client.SetReadDeadline(time.Now())
	_, err := client.Read(make([]byte, 1))
	var timeout net.Error
	return assert.ErrorAs(nopT{}, err, &timeout) && timeout.Timeout()
}

// nopT discards the messages of assertions.
type nopT struct{}

func (nopT) Errorf(string, ...any) {}

func linkTo(c *conn) call.Link { return c.RemoteAddr().(call.Link) }

func TestTheOldestStrangerMakesRoom(t *testing.T) {
	b := bound(t)
	known, knownClient := b.connect()
	require.NoError(t, linkTo(known).Known("t0"))
	_, first := b.connect()
	_, second := b.connect()
	for range b.strangersMax - 1 {
		b.connect()
	}
	all, strangers := b.count()
	assert.Equal(t, b.strangersMax, strangers)
	assert.Equal(t, b.strangersMax+1, all)
	assert.False(t, open(first), "the oldest is closed")
	assert.True(t, open(second))
	assert.True(t, open(knownClient), "a connection with a token stays")
}

func TestAServerFullOfTenantsRefusesConnections(t *testing.T) {
	b := bound(t)
	for i := range 16 {
		c, _ := b.connect()
		require.NotNil(t, c)
		require.NoError(t, linkTo(c).Known([]string{"t0", "t1"}[i%2]))
	}
	c, client := b.connect()
	assert.Nil(t, c)
	assert.False(t, open(client))
}

func TestATenantHasHalfOfTheConnections(t *testing.T) {
	b := bound(t)
	var last *conn
	for range b.tenantMax {
		last, _ = b.connect()
		require.NoError(t, linkTo(last).Known("t0"))
	}
	one, _ := b.connect()
	require.ErrorIs(t, linkTo(one).Known("t0"), memory.ErrExhausted)
	require.NoError(t, linkTo(one).Known("t1"), "another tenant's call on it is accepted")
	require.NoError(t, last.Close())
	two, _ := b.connect()
	require.NoError(t, linkTo(two).Known("t0"), "a closed connection makes room")
}

func TestIdleStrangersAreClosed(t *testing.T) {
	b := bound(t)
	stranger, _ := b.connect()
	probe, _ := b.connect()
	linkTo(probe).Probed()
	known, _ := b.connect()
	require.NoError(t, linkTo(known).Known("t0"))
	overHTTP := b.admit(probe.Conn, true)
	assert.Empty(t, b.overdue(time.Now()))
	assert.Equal(t, []*conn{stranger}, b.overdue(time.Now().Add(strangerMax+time.Second)))
	assert.NotNil(t, overHTTP, "its own server closes it")
}

func TestClientsThatDoNotReadAreCut(t *testing.T) {
	b := bound(t)
	c, _ := b.connect()
	reads, _ := b.connect()
	for _, c := range []*conn{c, reads} {
		require.NoError(t, linkTo(c).Known("t0"))
		linkTo(c).Holds(1_000)
	}
	now := time.Now()
	assert.Empty(t, b.overdue(now))
	now = now.Add(unreadMax / 2)
	reads.written.Add(progressBytesMin)
	c.written.Add(progressBytesMin - 1) // answers to pings
	assert.Empty(t, b.overdue(now))
	now = now.Add(unreadMax/2 + time.Second)
	assert.Equal(t, []*conn{c}, b.overdue(now))
	linkTo(c).Holds(-1_000)
	assert.Empty(t, b.overdue(now), "no bytes wait for the client")
}

func TestTheConnectionWithTheMostUnreadIsCut(t *testing.T) {
	b := bound(t)
	var conns []*conn
	var clients []net.Conn
	for range 3 {
		c, client := b.connect()
		require.NoError(t, linkTo(c).Known("t0"))
		conns, clients = append(conns, c), append(clients, client)
	}
	linkTo(conns[0]).Holds(300 << 10)
	linkTo(conns[1]).Answers(400 << 10)
	linkTo(conns[2]).Holds(300 << 10)
	assert.True(t, open(clients[1]))
	linkTo(conns[2]).Holds(50 << 10)
	assert.False(t, open(clients[1]))
	assert.True(t, open(clients[0]) && open(clients[2]))

	require.NoError(t, conns[1].Close())
	assert.EqualValues(t, 650<<10, b.outboxes.Taken(), "the budget got back the bytes of the closed connection")
	linkTo(conns[1]).Answers(1_000)
	for _, c := range []*conn{conns[0], conns[2]} {
		linkTo(c).Holds(-int(c.holds.Load()))
	}
	assert.Zero(t, b.outboxes.Taken(), "all bytes are given back")
}

func TestNothingIsCutThatHoldsLittle(t *testing.T) {
	b := bound(t)
	c, client := b.connect()
	linkTo(c).Holds(heldBytesMin - 1)
	assert.False(t, b.cut())
	assert.True(t, open(client))
}

func TestStoresHaveFilesWhateverClientsOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files, stores := rapid.IntRange(1, 1<<21).Draw(t, "files"), rapid.IntRange(1, 33).Draw(t, "stores")
		s, err := divideFiles(files, stores)
		if err != nil {
			require.ErrorContains(t, err, "RLIMIT_NOFILE")
			require.Less(t, files, filesMin+stores*(storeFilesMin+storeFilesBeside))
			return
		}
		require.GreaterOrEqual(t, s.stores, storeFilesMin)
		require.LessOrEqual(t, s.stores, storeFiles)
		require.Positive(t, s.connections)
		require.LessOrEqual(t, s.connections+ownFiles+stores*(s.stores+storeFilesBeside), files)
	})
}

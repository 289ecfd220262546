package links_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/internal/links"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests; none of them needs it unless something is broken.
const patience = 10 * time.Second

// moment is how long nothing must come.
const moment = 50 * time.Millisecond

// answering is a node that answers each line with the same line.
func answering(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		all.Wait()
	})
	return l.Addr().String()
}

// peer is a node's connection to another.
type peer struct {
	*testing.T
	net.Conn

	lines *bufio.Reader
}

func dial(t *testing.T, n *links.Net, from, to string) *peer {
	t.Helper()
	address, err := n.Address(from, to)
	require.NoError(t, err)
	c, err := net.DialTimeout("tcp", address, patience)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return &peer{t, c, bufio.NewReader(c)}
}

func (p *peer) say(line string) {
	p.Helper()
	_, err := io.WriteString(p, line+"\n")
	require.NoError(p, err)
}

func (p *peer) hear(line string) {
	p.Helper()
	require.NoError(p, p.SetReadDeadline(time.Now().Add(patience)))
	got, err := p.lines.ReadString('\n')
	require.NoError(p, err)
	require.Equal(p, line+"\n", got)
}

func (p *peer) hearNothing() {
	p.Helper()
	require.NoError(p, p.SetReadDeadline(time.Now().Add(moment)))
	got, err := p.lines.ReadString('\n')
	require.ErrorIs(p, err, os.ErrDeadlineExceeded)
	require.Empty(p, got)
}

func (p *peer) hearTheEnd() {
	p.Helper()
	require.NoError(p, p.SetReadDeadline(time.Now().Add(patience)))
	_, err := p.lines.ReadString('\n')
	require.Error(p, err)
	require.False(p, errors.Is(err, os.ErrDeadlineExceeded), "it goes on")
}

func two(t *testing.T) *links.Net {
	t.Helper()
	n := links.New()
	n.At("a", answering(t))
	n.At("b", answering(t))
	t.Cleanup(n.Close)
	return n
}

func TestALinkCarriesUntilItIsHeld(t *testing.T) {
	for name, c := range map[string]struct{ from, to string }{"what is sent": {"a", "b"}, "what is answered": {"b", "a"}} {
		t.Run(name, func(t *testing.T) {
			n := two(t)
			p := dial(t, n, "a", "b")
			p.say("one")
			p.hear("one")
			n.Hold(c.from, c.to)
			p.say("two")
			p.hearNothing()
			fresh := dial(t, n, "a", "b") // is made, and carries nothing
			fresh.say("three")
			fresh.hearNothing()
			n.Open(c.from, c.to)
			p.hear("two")
			fresh.hear("three")
		})
	}
}

func TestADirectionIsOneForBothNodesConnections(t *testing.T) {
	n := two(t)
	p, q := dial(t, n, "a", "b"), dial(t, n, "b", "a")
	n.Isolate("a", "a", "b", "c")
	p.say("one")
	q.say("two")
	p.hearNothing()
	q.hearNothing()
	n.Heal()
	p.hear("one")
	q.hear("two")
}

func TestConnectionsAreReset(t *testing.T) {
	n := two(t)
	p, q := dial(t, n, "a", "b"), dial(t, n, "b", "a")
	p.say("one")
	p.hear("one")
	q.say("one")
	q.hear("one")
	n.Hold("a", "b") // what waits for the direction ends too
	p.say("two")
	n.Reset("a", "b")
	p.hearTheEnd()
	q.hearTheEnd()
	n.Heal()
	p = dial(t, n, "a", "b")
	p.say("three")
	p.hear("three")
	n.At("b", "")
	p.hearTheEnd()
	dial(t, n, "a", "b").hearTheEnd()
}

func TestCloseEndsWhatIsHeld(t *testing.T) {
	n := two(t)
	p := dial(t, n, "a", "b")
	n.Isolate("a", "b")
	p.say("one")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		n.Close()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		t.Fatal("Close does not return")
	}
	p.hearTheEnd()
}

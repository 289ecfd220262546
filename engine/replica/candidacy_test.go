package replica

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/engine/shard"
)

// kill simulates a kill of a member's process: its connections are reset, and new ones are refused.
// The returned function ends the simulation.
func (g *group) kill(m *member) (back func()) {
	at := m.o.Stream.Addr().String()
	g.net.Listens(m.id, "")
	return func() { g.net.Listens(m.id, at) }
}

// The election timeout is longer than the test waits.
func TestFollowersOfADeadLeaderDoNotWaitForTheElectionTimeout(t *testing.T) {
	g := newGroup(t, slowElections)
	old := g.elect()
	for range 2 {
		g.fill(3, old.id)
		for _, id := range g.others(old) {
			g.caughtUp(g.members[id], old)
		}
		back := g.kill(old)
		next := g.leader(g.others(old)...)
		g.fill(3, next.id)
		read := old.askLater()
		back()
		require.ErrorIs(t, <-read, shard.ErrNotLeader)
		old.lost()
		old = next
	}
	g.same()
}

// replace makes a proxy reject the connections between a leader and a follower until the follower
// leads. It returns the number of times that it ended the connections: if the host is too busy for
// the elections that follow, the follower waits for the end of another connection.
func (g *group) replace(old, next *member) (ends uint64) {
	g.Helper()
	again := time.Time{}
	require.Eventually(g, func() bool {
		if next.shard.Load() == nil && time.Now().After(again) {
			for _, pair := range [][2]string{{old.id, next.id}, {next.id, old.id}} {
				g.net.Set(pair[0], pair[1], netproxy.Conditions{Cut: netproxy.Reset})
			}
			ends, again = ends+1, time.Now().Add(standsPer)
		}
		return next.shard.Load() != nil
	}, patience, time.Millisecond, "%s does not lead", next.id)
	return ends
}

// Only one of two followers is cut off from a leader that lives, by a proxy that rejects
// connections.
func TestARejectingProxyBeforeALiveLeaderCausesOneElection(t *testing.T) {
	g := newGroup(t, slowElections)
	old := g.elect()
	next, other := g.members["n3"], g.members["n2"]
	g.fill(3, old.id)
	g.caughtUp(next, old)
	g.caughtUp(other, old)
	term := old.Term()
	ends := g.replace(old, next)
	g.fill(3, next.id)
	for range 3 { // the old leader knows that it was replaced, or learns it from the answers
		if s := old.shard.Load(); s != nil {
			_, err := old.ask(s.Stats)
			require.ErrorIs(t, err, shard.ErrNotLeader)
		}
	}
	old.lost()
	elected := next.Term()
	assert.LessOrEqual(t, elected, term+2*standTries*ends)
	for range 5 { // more connections end
		g.net.Set(old.id, next.id, netproxy.Conditions{Cut: netproxy.Reset})
		g.fill(1, next.id)
	}
	assert.Equal(t, elected, next.Term(), "no further election")
	g.net.Heal()
	g.same()
	assert.Equal(t, elected, next.Term())
}

// termGate delays a member's Raft when it stores a new term, like a slow disk.
type termGate struct {
	Logs
	closed     atomic.Bool
	held, open chan struct{}
}

func (l *termGate) SetUint64(name []byte, n uint64) error {
	if string(name) == string(termName) && l.closed.CompareAndSwap(true, false) {
		close(l.held)
		<-l.open
	}
	return l.Logs.SetUint64(name, n)
}

// A follower that also lost the leader must not stand when it is about to vote for another
// candidate.
func TestAFollowerThatIsAboutToVoteSeesTheElection(t *testing.T) {
	gate := &termGate{held: make(chan struct{}), open: make(chan struct{})}
	g := newGroup(t, func(o *Options) {
		slowElections(o)
		if o.Node == "n3" {
			gate.Logs = o.Logs
			o.Logs = gate
		}
	})
	old := g.elect()
	require.Equal(t, "n1", old.id)
	next, late := g.members["n2"], g.members["n3"]
	g.fill(1, old.id)
	g.caughtUp(late, old)
	g.caughtUp(next, old)
	term := late.Term()
	require.Eventually(t, func() bool { return !late.electionBegan(term, raft.ServerID(old.id)) }, patience, step,
		"no member stands; a busy host may delay an answer")
	gate.closed.Store(true)
	g.net.Drop(next.id, old.id) // late asks this member below; it knows of no election
	next.stand()
	<-gate.held // late's Raft received the vote request
	began := make(chan bool, 1)
	go func() { began <- late.electionBegan(term, raft.ServerID(next.id)) }()
	select {
	case <-began:
		require.Fail(t, "the member did not wait for its own Raft")
	case <-time.After(200 * time.Millisecond):
	}
	close(gate.open)
	require.True(t, <-began)
	g.net.Heal()
}

// A follower that has not received a vote request learns of the election from the other voters.
func TestAFollowerHearsThatAnotherOneStands(t *testing.T) {
	g := newGroup(t, slowElections)
	old := g.elect()
	next, late := g.members["n2"], g.members["n3"]
	g.fill(1, old.id)
	g.caughtUp(late, old)
	g.caughtUp(next, old)
	term := late.Term()
	next.stepDown() // enters the next term; the other voters do not learn it
	require.True(t, late.electionBegan(term, raft.ServerID(old.id)))
	require.Equal(t, term, late.Term())
}

// The follower with the longer log stands first, because it does not vote for the other one.
func TestTheLongerLogStandsFirst(t *testing.T) {
	g := newGroup(t, slowElections)
	old := g.elect()
	first, second := g.members["n2"], g.members["n3"]
	g.fill(1, old.id)
	// A voter that answers late on a busy host is not counted.
	comesBefore := func(of, last *member) {
		t.Helper()
		require.Eventually(t, func() bool {
			none, votes := of.votersBefore(raft.ServerID(old.id))
			one, votesToo := last.votersBefore(raft.ServerID(old.id))
			return none == 0 && one == 1 && votes && votesToo
		}, patience, step, "%s does not stand before %s", of.id, last.id)
	}
	asLong := func(m *member) func() bool {
		return func() bool { return m.raft.LastIndex() == old.raft.LastIndex() }
	}
	require.Eventually(t, asLong(first), patience, step)
	require.Eventually(t, asLong(second), patience, step)
	comesBefore(first, second) // as long as each other
	g.net.Drop(old.id, first.id)
	g.fill(1, old.id)
	require.Eventually(t, asLong(second), patience, step)
	comesBefore(second, first)
	assert.Equal(t, old.Term(), second.Term(), "the questions have no effect")
	g.net.Heal()
}

// Two followers that stand simultaneously split the votes. The one that would win stands again
// before the election timeout.
func TestAnElectionThatFailedIsRepeated(t *testing.T) {
	g := newGroup(t, slowElections)
	old := g.elect()
	g.fill(1, old.id)
	next, late := g.members["n2"], g.members["n3"]
	g.caughtUp(late, old)
	g.net.Isolate(late.id, "n1", "n2", "n3")
	g.fill(3, old.id)
	g.caughtUp(next, old)
	term := old.Term()
	late.stand() // its request for votes reaches no other member
	require.Eventually(t, func() bool { return late.Term() > term }, patience, step, "its term does not grow")
	back := g.kill(old)
	defer back()
	g.net.Heal()
	g.fill(1, next.id)
}

func TestStandsAreLimited(t *testing.T) {
	var s stands
	now := time.Now()
	for range standsMax {
		require.True(t, s.take(now))
		now = now.Add(time.Second)
	}
	require.False(t, s.take(now))
	now = now.Add(standsPer - standsMax*time.Second)
	require.True(t, s.take(now), "the first one is long ago")
	require.False(t, s.take(now))
}

func TestOnlyARefusalSaysThatAProcessIsGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
	for err, want := range map[error]bool{
		err:                                     true,
		fmt.Errorf("x: %w", syscall.ECONNRESET): true,
		io.EOF:                                  true,
		os.ErrDeadlineExceeded:                  false,
		syscall.EHOSTUNREACH:                    false,
		errors.New("refused by its handshake"):  false,
	} {
		assert.Equal(t, want, refusal(err), "%v", err)
	}
}

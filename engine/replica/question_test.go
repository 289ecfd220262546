package replica

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// electorate is a group whose heartbeats wait for the test.
type electorate struct {
	servers []raft.Server
	term    uint64
	sent    chan heartbeat
	asking  sync.WaitGroup
}

// heartbeat is a heartbeat in flight. The test answers it once.
type heartbeat struct {
	to     raft.ServerID
	answer chan<- voterAnswer
}

type voterAnswer struct {
	term uint64
	err  error
}

func (e *electorate) members() []raft.Server { return e.servers }
func (e *electorate) currentTerm() uint64    { return e.term }
func (e *electorate) heartbeat(to raft.Server, _ uint64) (uint64, error) {
	c := make(chan voterAnswer, 1)
	e.sent <- heartbeat{to.ID, c}
	a := <-c
	return a.term, a.err
}

// next returns the next heartbeats: exactly one to each of the members.
func (e *electorate) next(t *testing.T, to ...raft.ServerID) map[raft.ServerID]chan<- voterAnswer {
	t.Helper()
	out := map[raft.ServerID]chan<- voterAnswer{}
	for range to {
		select {
		case h := <-e.sent:
			out[h.to] = h.answer
		case <-time.After(patience):
			require.FailNow(t, "no heartbeat")
		}
	}
	for _, id := range to {
		require.Contains(t, out, id)
	}
	return out
}

// newElectorate returns a group of leader "n1", other voters and a member without a vote.
func newElectorate(t *testing.T, voters ...raft.ServerID) (*electorate, *questions) {
	t.Helper()
	e := &electorate{term: 3, sent: make(chan heartbeat, 100), servers: []raft.Server{{ID: "n1"}, {ID: "learner", Suffrage: raft.Nonvoter}}}
	for _, id := range voters {
		e.servers = append(e.servers, raft.Server{ID: id})
	}
	qs := newQuestions(7, 3, "n1", e, &e.asking)
	t.Cleanup(func() {
		qs.close()
		close(e.sent)
		for h := range e.sent {
			h.answer <- voterAnswer{3, nil}
		}
		e.asking.Wait()
	})
	return e, qs
}

func TestReadsThatArriveMeanwhileShareTheNextHeartbeat(t *testing.T) {
	e, qs := newElectorate(t, "n2", "n3")
	first := qs.ask()
	sent := e.next(t, "n2", "n3")
	second, third := qs.ask(), qs.ask()
	require.Empty(t, e.sent, "one heartbeat at a time is on its way to a voter")
	sent["n2"] <- voterAnswer{3, nil}
	require.NoError(t, first.Wait())
	again := e.next(t, "n2")
	assert.False(t, second.Done(), "the heartbeat was sent before the read arrived")
	again["n2"] <- voterAnswer{3, nil}
	require.NoError(t, second.Wait())
	require.NoError(t, third.Wait())
	require.Empty(t, e.sent, "n3 delays no read, and both reads shared a heartbeat")
	sent["n3"] <- voterAnswer{3, nil}
}

func TestAReadNeedsAMajority(t *testing.T) {
	e, qs := newElectorate(t, "n2", "n3", "n4", "n5")
	q := qs.ask()
	sent := e.next(t, "n2", "n3", "n4", "n5")
	sent["n2"] <- voterAnswer{3, nil}
	sent["n3"] <- voterAnswer{0, errors.New("cut off")}
	retried := e.next(t, "n3")
	assert.False(t, q.Done(), "two of five")
	retried["n3"] <- voterAnswer{3, nil}
	require.NoError(t, q.Wait())
	sent["n4"] <- voterAnswer{3, nil}
	sent["n5"] <- voterAnswer{3, nil}
}

func TestAGroupOfOneAsksNobody(t *testing.T) {
	_, qs := newElectorate(t)
	require.NoError(t, qs.ask().Wait())
}

func TestALaterTermRefusesReads(t *testing.T) {
	e, qs := newElectorate(t, "n2", "n3")
	q := qs.ask()
	sent := e.next(t, "n2", "n3")
	sent["n2"] <- voterAnswer{4, nil}
	require.ErrorIs(t, q.Wait(), shard.ErrNotLeader)
	require.ErrorIs(t, qs.ask().Wait(), shard.ErrNotLeader)
	sent["n3"] <- voterAnswer{3, nil}
}

func TestANodeThatVotedForAnotherRefusesReads(t *testing.T) {
	_, qs := newElectorate(t)
	qs.group.(*electorate).term = 4
	require.ErrorIs(t, qs.ask().Wait(), shard.ErrNotLeader)
}

// The start of a tenure reads. If no voter answers, the read must not prevent the tenure from
// ending.
func TestALeaderThatSteppedDownRefusesReadsWithoutAnAnswer(t *testing.T) {
	e, qs := newElectorate(t, "n2", "n3")
	q := qs.ask()
	sent := e.next(t, "n2", "n3")
	e.term = 0
	sent["n2"] <- voterAnswer{0, errors.New("cut off")}
	require.ErrorIs(t, q.Wait(), shard.ErrNotLeader)
	sent["n3"] <- voterAnswer{0, errors.New("cut off")}
}

func TestTheEndOfATenureRefusesReads(t *testing.T) {
	e, qs := newElectorate(t, "n2", "n3")
	q := qs.ask()
	for _, c := range e.next(t, "n2", "n3") {
		defer func() { c <- voterAnswer{3, nil} }()
	}
	qs.close()
	require.ErrorIs(t, q.Wait(), shard.ErrNotLeader)
}

// slowElections prevents Raft's timers from firing during a test.
func slowElections(o *Options) { o.ElectionTimeout = time.Minute }

// elect makes n1 the leader.
func (g *group) elect() *member {
	g.Helper()
	m := g.members["n1"]
	require.True(g, m.transport.deliver(&raft.TimeoutNowRequest{RPCHeader: m.transport.header()}))
	return g.leader(m.id)
}

// lost waits until a member knows that it no longer leads.
func (m *member) lost() {
	m.Helper()
	require.Eventually(m, func() bool { return m.shard.Load() == nil }, patience, step, "the member does not lose leadership")
}

// askLater reads in a goroutine, and returns the channel of the outcome. A member that knows that
// it does not lead refuses.
func (m *member) askLater() <-chan error {
	c := make(chan error, 1)
	s := m.shard.Load()
	if s == nil {
		c <- shard.ErrNotLeader
		return c
	}
	go func() {
		_, err := m.ask(func(reply func([]queue.Stats, error)) error { return s.Stats(reply) })
		c <- err
	}()
	return c
}

// A follower whose connections to a live leader are rejected is elected with the other follower's
// vote. The old leader then receives an answer that the other follower sent before the election. It
// must not accept this answer as confirmation of a read that came after the election.
func TestAnAnswerFromBeforeAnElectionIsNoLeaveToRead(t *testing.T) {
	g := newGroup(t, slowElections)
	old, other, next := g.elect(), g.members["n2"], g.members["n3"]
	g.fill(1, old.id)
	g.caughtUp(other, old)
	g.caughtUp(next, old)

	g.net.Drop(other.id, old.id)
	at := time.Now()
	before := old.askLater()
	require.Eventually(t, func() bool { return other.raft.LastContact().After(at) }, patience, step, "the other follower answers")
	g.net.Drop(old.id, other.id)
	g.replace(old, next)
	g.fill(1, next.id) // the old leader does not know this task

	after := old.askLater()
	// The answer from before the election arrives.
	g.net.Set(other.id, old.id, netproxy.Conditions{})
	// The read came before the election: it may be answered or refused.
	if err := <-before; err != nil {
		require.ErrorIs(t, err, shard.ErrNotLeader)
	}
	g.net.Heal()
	require.ErrorIs(t, <-after, shard.ErrNotLeader)
	old.lost()
	g.same()
}

// A read writes nothing. A leader that reaches no follower refuses it.
func TestAReadOfAnIdleLeader(t *testing.T) {
	g := newGroup(t, nil)
	var leader *member
	var l *tenureLog
	for {
		g.fill(1)
		leader = g.leader()
		term := leader.Term()
		if l = leader.tenure.Load(); l == nil {
			continue // an election on a busy host
		}
		before := leader.raft.LastIndex()
		err := l.Verify().Wait()
		after := leader.raft.LastIndex()
		if leader.Term() != term {
			continue // as above
		}
		require.NoError(t, err)
		assert.Equal(t, before, after, "no entry")
		break
	}
	for _, id := range g.others(leader) {
		g.net.Drop(leader.id, id)
		g.net.Drop(id, leader.id)
	}
	require.ErrorIs(t, l.Verify().Wait(), shard.ErrNotLeader)
	g.net.Heal()
}

// BenchmarkVerify confirms reads, with as many concurrent reads as a shard has turns in flight.
func BenchmarkVerify(b *testing.B) {
	for _, at := range []int{1, 16} {
		b.Run(map[int]string{1: "one", 16: "sixteen"}[at], func(b *testing.B) {
			g := newGroup(b, nil)
			l := g.leader().tenure.Load()
			flights := make([]storage.Proposal, 0, at)
			for b.Loop() {
				if len(flights) == at {
					require.NoError(b, flights[0].Wait())
					flights = append(flights[:0], flights[1:]...)
				}
				flights = append(flights, l.Verify())
			}
			for _, f := range flights {
				require.NoError(b, f.Wait())
			}
		})
	}
}

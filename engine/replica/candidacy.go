package replica

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// When a process dies, its connections are reset, and its host refuses new ones. If the leader's
// connections fail in this way, a follower stands for election without waiting for the election
// timeout. A refused connection does not prove that the leader is dead, because a proxy can refuse
// it too. The election is safe even then, because a read needs the answers of a majority (see
// questions). Such elections disturb a live leader at most standsMax times in standsPer. A
// connection timeout proves nothing: the follower then waits for the election timeout.

const (
	// A follower pauses for standPart for each voter that should stand before it, plus a random
	// pause of at most standSpread. A voter with a longer log should stand first, because it does
	// not vote for a candidate with a shorter log.
	standPart   = 60 * time.Millisecond
	standSpread = 5 * time.Millisecond
	// standRetry is the minimum wait for the outcome of the first election before the follower
	// stands again. The maximum is twice as long. Both double with each try. If another node stood,
	// the follower stands again only if a majority would vote for it; those voters then know no
	// leader.
	standRetry = 50 * time.Millisecond
	// standAsk limits the wait for the other voters' terms and log lengths.
	standAsk = 100 * time.Millisecond
	// standTries limits the number of elections in which a follower stands because of the same lost
	// leader. After that, the follower waits for the election timeout.
	standTries = 6
	// standsMax limits the number of elections in which a follower stands within standsPer.
	standsMax = 4
	standsPer = 10 * time.Second
	// redialMax limits the time of one attempt to reach the leader.
	redialMax = time.Second
)

// watchedStream calls ended when a connection that another member opened has ended.
type watchedStream struct {
	raft.StreamLayer
	ended func()
}

// Accept implements net.Listener.
func (s watchedStream) Accept() (net.Conn, error) {
	c, err := s.StreamLayer.Accept()
	if err != nil {
		return nil, err
	}
	return watchedConn{c, s.ended}, nil
}

type watchedConn struct {
	net.Conn
	ended func()
}

// Read implements net.Conn.
func (c watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.ended()
	}
	return n, err
}

// stands limits how often a member stands for election without waiting for the election timeout.
type stands struct {
	at []time.Time // the latest times at which the member stood; at most standsMax of them
}

// take reports whether the member may stand now. If so, it records the time.
func (s *stands) take(now time.Time) bool {
	if len(s.at) == standsMax {
		if now.Sub(s.at[0]) < standsPer {
			return false
		}
		s.at = slices.Delete(s.at, 0, 1)
	}
	s.at = append(s.at, now)
	return true
}

// candidacy makes this member stand for election when the leader's process dies.
type candidacy struct {
	*raftGroup

	lost    chan struct{}         // contains an element when a connection that another member opened has ended
	leaders chan raft.Observation // Raft's observations of changes of the leader
}

func (c *candidacy) watchLeader() {
	var s stands
	var leader raft.ServerID // the last known leader
	for {
		select {
		case <-c.stop:
			return
		case o := <-c.leaders:
			leader = latestLeader(o, leader)
		case <-c.lost:
			leader = c.replaceLeader(leader, &s)
		}
	}
}

// latestLeader returns the leader that an observation names. If it does not name a leader,
// latestLeader returns before, the previous leader.
func latestLeader(o raft.Observation, before raft.ServerID) raft.ServerID {
	// The observer's filter admits only observations of this type.
	if now := o.Data.(raft.LeaderObservation).LeaderID; now != "" {
		return now
	}
	return before
}

// replaceLeader stands for election if the leader's process is dead. It stands again while there is
// no leader and a majority would vote for this node. It returns the last known leader.
func (c *candidacy) replaceLeader(leader raft.ServerID, s *stands) raft.ServerID {
	for len(c.leaders) > 0 {
		leader = latestLeader(<-c.leaders, leader)
	}
	term := c.raft.CurrentTerm()
	if leader == "" || string(leader) == c.o.Node || !c.refusesConnections(leader) {
		return leader
	}
	before, votes := c.votersBefore(leader)
	if !votes {
		return leader
	}
	began := time.Now()
	if !c.pause(time.Duration(before)*standPart + rand.N(standSpread)) {
		return leader
	}
	// This node has voted for a candidate during the pause: give that candidate time to win.
	if c.raft.LastContact().After(began) && !c.pause(standPart) {
		return leader
	}
	for try := range standTries {
		if try > 0 && !c.pause(standRetry<<(try-1)+rand.N(standRetry<<(try-1))) {
			return leader
		}
		switch _, now := c.raft.LeaderWithID(); {
		case now != "" && now != leader && try > 0:
			return now
		// The new leader may still lose its leadership to a late vote request of another node.
		case now != "" && now != leader:
		case c.withholdsVote():
			return leader
		// Another election has begun. Standing now would depose its winner.
		case c.electionBegan(term, leader) && (try == 0 || !c.wouldWin()):
		case !s.take(time.Now()):
			return leader
		default:
			c.o.Log.Debug("the leader's process is dead: standing for election", "leader", string(leader), "term", c.raft.CurrentTerm(), "try", try+1)
			c.stand()
		}
	}
	return leader
}

// electionBegan reports whether an election in a term after the given one may be in progress or
// decided. It returns true if this node or another voter has a later term, or if a voter does not
// answer. It first waits for this node's Raft, which may be about to vote.
func (c *candidacy) electionBegan(term uint64, leader raft.ServerID) bool {
	barrier := raft.RequestPreVoteRequest{RPCHeader: c.transport.header(), Term: term}
	if !c.transport.deliver(&barrier) || c.raft.CurrentTerm() > term {
		return true
	}
	inTerm := func(m raft.Server) bool {
		its, err := c.standing(m)
		return err == nil && its.Term <= term
	}
	// Expect an answer from each voter except the leader and this node.
	return !c.askVoters(leader, inTerm, standAsk, func(voters, yes int) bool { return yes >= voters-2 })
}

// wouldWin asks the voters whether they would vote for this node, and reports whether a majority
// would. A voter that knows a leader answers no.
func (c *candidacy) wouldWin() bool {
	header, last := c.transport.header(), raft.Log{Index: c.raft.LastIndex()}
	if err := c.o.Logs.GetLog(last.Index, &last); err != nil {
		return false // the log was truncated at this moment: wait for the election timeout
	}
	question := raft.RequestPreVoteRequest{RPCHeader: header, Term: c.raft.CurrentTerm() + 1, LastLogIndex: last.Index, LastLogTerm: last.Term}
	granted := func(m raft.Server) bool {
		var answer raft.RequestPreVoteResponse
		return c.transport.RequestPreVote(m.ID, m.Address, &question, &answer) == nil && answer.Granted
	}
	return c.askVoters("", granted, redialMax, func(voters, yes int) bool { return 1+yes > voters/2 })
}

// votersBefore returns the number of voters that should stand before this node: those with a longer
// log, and those with an equally long log and a smaller ID. It ignores voters that do not answer.
// votes is false if this node has no vote.
func (c *candidacy) votersBefore(leader raft.ServerID) (before int, votes bool) {
	own, self := c.raft.LastIndex(), raft.ServerID(c.o.Node)
	votes = slices.ContainsFunc(c.members(), func(m raft.Server) bool { return m.ID == self && m.Suffrage == raft.Voter })
	var comeBefore atomic.Int32
	c.askVoters(leader, func(m raft.Server) bool {
		its, err := c.standing(m)
		if err == nil && (its.LastLog > own || its.LastLog == own && m.ID < self) {
			comeBefore.Add(1)
		}
		return false
	}, standAsk, func(int, int) bool { return false })
	return int(comeBefore.Load()), votes
}

// stand makes Raft request votes immediately, as if the leader had transferred leadership to this
// node.
func (c *candidacy) stand() {
	switch c.raft.State() {
	case raft.Leader:
		return
	case raft.Candidate:
		// Raft ends its current election only at the election's timeout or when it learns of a
		// later term.
		if !c.transport.deliver(&raft.RequestVoteRequest{RPCHeader: c.transport.header(), Term: c.raft.CurrentTerm() + 1, LeadershipTransfer: true}) {
			return
		}
	}
	c.transport.deliver(&raft.TimeoutNowRequest{RPCHeader: c.transport.header()})
}

// refusesConnections reports whether a member's host refuses connections. A connection timeout is
// not a refusal.
func (c *candidacy) refusesConnections(member raft.ServerID) bool {
	members := c.members()
	i := slices.IndexFunc(members, func(m raft.Server) bool { return m.ID == member })
	if i < 0 {
		return false
	}
	address := members[i].Address
	if c.o.Addresses != nil {
		if known, err := c.o.Addresses.ServerAddr(member); err == nil {
			address = known
		}
	}
	conn, err := c.o.Stream.Dial(address, redialMax)
	if err == nil {
		_ = conn.Close() // nothing was sent on it
		return false
	}
	return refusal(err)
}

// refusal reports whether a dial failed because the other side refused the connection or ended it
// without an answer. A proxy in front of a dead process ends it without an answer.
func refusal(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

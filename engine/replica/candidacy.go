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

func (r *Replica) watchLeader() {
	var s stands
	var leader raft.ServerID // the last known leader
	for {
		select {
		case <-r.stop:
			return
		case o := <-r.leaders:
			leader = latestLeader(o, leader)
		case <-r.lost:
			leader = r.replaceLeader(leader, &s)
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
func (r *Replica) replaceLeader(leader raft.ServerID, s *stands) raft.ServerID {
	for len(r.leaders) > 0 {
		leader = latestLeader(<-r.leaders, leader)
	}
	term := r.raft.CurrentTerm()
	if leader == "" || string(leader) == r.o.Node || !r.refusesConnections(leader) {
		return leader
	}
	before, votes := r.votersBefore(leader)
	if !votes {
		return leader
	}
	began := time.Now()
	if !r.pause(time.Duration(before)*standPart + rand.N(standSpread)) {
		return leader
	}
	// This node has voted for a candidate during the pause: give that candidate time to win.
	if r.raft.LastContact().After(began) && !r.pause(standPart) {
		return leader
	}
	for try := range standTries {
		if try > 0 && !r.pause(standRetry<<(try-1)+rand.N(standRetry<<(try-1))) {
			return leader
		}
		switch _, now := r.raft.LeaderWithID(); {
		case now != "" && now != leader && try > 0:
			return now
		// The new leader may still lose its leadership to a late vote request of another node.
		case now != "" && now != leader:
		case r.withholdsVote():
			return leader
		// Another election has begun. Standing now would depose its winner.
		case r.electionBegan(term, leader) && (try == 0 || !r.wouldWin()):
		case !s.take(time.Now()):
			return leader
		default:
			r.o.Log.Debug("the leader's process is dead: standing for election", "leader", string(leader), "term", r.raft.CurrentTerm(), "try", try+1)
			r.stand()
		}
	}
	return leader
}

func (r *Replica) pause(d time.Duration) bool {
	select {
	case <-r.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// electionBegan reports whether an election in a term after the given one may be in progress or
// decided. It returns true if this node or another voter has a later term, or if a voter does not
// answer. It first waits for this node's Raft, which may be about to vote.
func (r *Replica) electionBegan(term uint64, leader raft.ServerID) bool {
	barrier := raft.RequestPreVoteRequest{RPCHeader: r.transport.header(), Term: term}
	if !r.transport.deliver(&barrier) || r.raft.CurrentTerm() > term {
		return true
	}
	inTerm := func(m raft.Server) bool {
		its, err := r.standing(m)
		return err == nil && its.Term <= term
	}
	// Expect an answer from each voter except the leader and this node.
	return !r.askVoters(leader, inTerm, standAsk, func(voters, yes int) bool { return yes >= voters-2 })
}

// wouldWin asks the voters whether they would vote for this node, and reports whether a majority
// would. A voter that knows a leader answers no.
func (r *Replica) wouldWin() bool {
	header, last := r.transport.header(), raft.Log{Index: r.raft.LastIndex()}
	if err := r.o.Logs.GetLog(last.Index, &last); err != nil {
		return false // the log was truncated at this moment: wait for the election timeout
	}
	question := raft.RequestPreVoteRequest{RPCHeader: header, Term: r.raft.CurrentTerm() + 1, LastLogIndex: last.Index, LastLogTerm: last.Term}
	granted := func(m raft.Server) bool {
		var answer raft.RequestPreVoteResponse
		return r.transport.RequestPreVote(m.ID, m.Address, &question, &answer) == nil && answer.Granted
	}
	return r.askVoters("", granted, redialMax, func(voters, yes int) bool { return 1+yes > voters/2 })
}

// votersBefore returns the number of voters that should stand before this node: those with a longer
// log, and those with an equally long log and a smaller ID. It ignores voters that do not answer.
// votes is false if this node has no vote.
func (r *Replica) votersBefore(leader raft.ServerID) (before int, votes bool) {
	own, self := r.raft.LastIndex(), raft.ServerID(r.o.Node)
	votes = slices.ContainsFunc(r.members(), func(m raft.Server) bool { return m.ID == self && m.Suffrage == raft.Voter })
	var comeBefore atomic.Int32
	r.askVoters(leader, func(m raft.Server) bool {
		its, err := r.standing(m)
		if err == nil && (its.LastLog > own || its.LastLog == own && m.ID < self) {
			comeBefore.Add(1)
		}
		return false
	}, standAsk, func(int, int) bool { return false })
	return int(comeBefore.Load()), votes
}

// standing asks a voter for its term and log length. It sends a heartbeat of term 1. This heartbeat
// has no effect, because the leader's term is later. The voter answers immediately, even while it
// waits for its disk.
func (r *Replica) standing(m raft.Server) (*raft.AppendEntriesResponse, error) {
	question := raft.AppendEntriesRequest{RPCHeader: r.transport.header(), Term: 1}
	answer := new(raft.AppendEntriesResponse)
	return answer, r.transport.NetworkTransport.AppendEntries(m.ID, m.Address, &question, answer)
}

// askVoters asks all other voters concurrently, except the voter with the ID except. It waits until
// enough(voters, yes) is true or all have answered, and returns that value. voters is the number of
// voters of the group, and yes is the number of positive answers. If most has passed or the replica
// stops, it returns false.
func (r *Replica) askVoters(except raft.ServerID, ask func(raft.Server) bool, most time.Duration, enough func(voters, yes int) bool) bool {
	members := r.members()
	answers, voters, asked := make(chan bool, len(members)), 0, 0
	for _, m := range members {
		if m.Suffrage != raft.Voter {
			continue
		}
		if voters++; string(m.ID) == r.o.Node || m.ID == except {
			continue
		}
		asked++
		r.asking.Go(func() { answers <- ask(m) })
	}
	yes, patience := 0, time.After(most)
	for ; asked > 0 && !enough(voters, yes); asked-- {
		select {
		case is := <-answers:
			if is {
				yes++
			}
		case <-patience:
			return false
		case <-r.stop:
			return false
		}
	}
	return enough(voters, yes)
}

// stand makes Raft request votes immediately, as if the leader had transferred leadership to this
// node.
func (r *Replica) stand() {
	switch r.raft.State() {
	case raft.Leader:
		return
	case raft.Candidate:
		// Raft ends its current election only at the election's timeout or when it learns of a
		// later term.
		if !r.transport.deliver(&raft.RequestVoteRequest{RPCHeader: r.transport.header(), Term: r.raft.CurrentTerm() + 1, LeadershipTransfer: true}) {
			return
		}
	}
	r.transport.deliver(&raft.TimeoutNowRequest{RPCHeader: r.transport.header()})
}

// refusesConnections reports whether a member's host refuses connections. A connection timeout is
// not a refusal.
func (r *Replica) refusesConnections(member raft.ServerID) bool {
	members := r.members()
	i := slices.IndexFunc(members, func(m raft.Server) bool { return m.ID == member })
	if i < 0 {
		return false
	}
	address := members[i].Address
	if r.o.Addresses != nil {
		if known, err := r.o.Addresses.ServerAddr(member); err == nil {
			address = known
		}
	}
	c, err := r.o.Stream.Dial(address, redialMax)
	if err == nil {
		_ = c.Close() // nothing was sent on it
		return false
	}
	return refusal(err)
}

// refusal reports whether a dial failed because the other side refused the connection or ended it
// without an answer. A proxy in front of a dead process ends it without an answer.
func refusal(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

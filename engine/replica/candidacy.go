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

// A process that dies resets its connections, and its host refuses new ones. A follower of such a leader does not wait for the election
// timeout: it stands for election at once. A refused connection does not prove that the leader is dead, since a proxy may refuse it as
// well. The election is safe all the same, because a read needs the answers of a majority (questions), and it disturbs a live leader at
// most standsMax times in standsPer. A connection that times out proves nothing: then the election timeout decides.

const (
	// standPart is how long a follower leaves the election to each voter that comes before it, and standSpread bounds a random pause in
	// addition. A voter with a longer log comes first, since it does not vote for one with a shorter log.
	standPart   = 60 * time.Millisecond
	standSpread = 5 * time.Millisecond
	// standRetry is how long a follower waits at least for the outcome of the first election before it stands again, and twice that at
	// most; twice as long after each. After another one stood, it stands only if no voter of a majority knows a leader.
	standRetry = 50 * time.Millisecond
	// standAsk is how long a follower waits for the others to say in which term they are, and how long their logs are.
	standAsk = 100 * time.Millisecond
	// standTries is how often a follower stands because of one lost leader before it leaves the rest to the election timeout.
	standTries = 6
	// standsMax is how often a follower stands within standsPer.
	standsMax = 4
	standsPer = 10 * time.Second
	// redialMax bounds one attempt to reach the leader.
	redialMax = time.Second
)

// watchedStream reports the end of each connection that another member opened.
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
	at []time.Time // of the latest ones, at most standsMax
}

// take reports whether the member may stand now, and counts it.
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

// watchLeader has this node stand for election once the leader's process is gone.
func (r *Replica) watchLeader() {
	var s stands
	var leader raft.ServerID // the last one that was known
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

// latestLeader returns the leader that an observation names, or else the one before.
func latestLeader(o raft.Observation, before raft.ServerID) raft.ServerID {
	if now := o.Data.(raft.LeaderObservation).LeaderID; now != "" { // the observer's filter lets nothing else pass
		return now
	}
	return before
}

// replaceLeader stands for election if the leader's process is gone, and again while there is no leader and a majority would vote for this
// node. It returns the last known leader.
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
	if r.raft.LastContact().After(began) && !r.pause(standPart) { // this node voted: that election may be won
		return leader
	}
	for try := range standTries {
		if try > 0 && !r.pause(standRetry<<(try-1)+rand.N(standRetry<<(try-1))) {
			return leader
		}
		switch _, now := r.raft.LeaderWithID(); {
		case now != "" && now != leader && try > 0:
			return now
		case now != "" && now != leader: // a vote that another node asked for too late may still end its leadership
		case r.withholdsVote():
			return leader
		case r.electionBegan(term, leader) && (try == 0 || !r.wouldWin()): // standing would end the winner's leadership
		case !s.take(time.Now()):
			return leader
		default:
			r.o.Log.Debug("the leader's process is gone: standing for election", "leader", string(leader), "term", r.raft.CurrentTerm(), "try", try+1)
			r.stand()
		}
	}
	return leader
}

// pause waits. It returns false if the replica stops.
func (r *Replica) pause(d time.Duration) bool {
	select {
	case <-r.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// electionBegan reports whether an election after this term may be under way, or was won: this node or another voter is in a later term, or
// does not answer. It waits for this node's Raft, which may be about to vote.
func (r *Replica) electionBegan(term uint64, leader raft.ServerID) bool {
	barrier := raft.RequestPreVoteRequest{RPCHeader: r.transport.header(), Term: term}
	if !r.transport.deliver(&barrier) || r.raft.CurrentTerm() > term {
		return true
	}
	inTerm := func(m raft.Server) bool {
		its, err := r.standing(m)
		return err == nil && its.Term <= term
	}
	return !r.askVoters(leader, inTerm, standAsk, func(voters, yes int) bool { return yes >= voters-2 }) // all but the leader and this node
}

// wouldWin asks the voters whether they would vote for this node. A voter that knows a leader would not.
func (r *Replica) wouldWin() bool {
	header, last := r.transport.header(), raft.Log{Index: r.raft.LastIndex()}
	if err := r.o.Logs.GetLog(last.Index, &last); err != nil {
		return false // the log was cut right there: the election timeout decides
	}
	question := raft.RequestPreVoteRequest{RPCHeader: header, Term: r.raft.CurrentTerm() + 1, LastLogIndex: last.Index, LastLogTerm: last.Term}
	granted := func(m raft.Server) bool {
		var answer raft.RequestPreVoteResponse
		return r.transport.RequestPreVote(m.ID, m.Address, &question, &answer) == nil && answer.Granted
	}
	return r.askVoters("", granted, redialMax, func(voters, yes int) bool { return 1+yes > voters/2 })
}

// votersBefore returns how many voters should stand before this node does: those with a longer log, and of those with as long a log the
// ones whose ids are smaller. A voter that does not answer is not among them. It returns false if this node has no vote.
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

// standing asks a voter for its term and the length of its log, with a heartbeat of the first term, which has no effect: the leader's term
// is a later one. The voter answers at once, also while it waits for its disk.
func (r *Replica) standing(m raft.Server) (*raft.AppendEntriesResponse, error) {
	question := raft.AppendEntriesRequest{RPCHeader: r.transport.header(), Term: 1}
	answer := new(raft.AppendEntriesResponse)
	return answer, r.transport.NetworkTransport.AppendEntries(m.ID, m.Address, &question, answer)
}

// askVoters asks all other voters at once, except one, and reports whether enough is true of how many voters the group has and how many of
// them answered yes in time.
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

// stand makes Raft request votes at once, as a leader that hands over does.
func (r *Replica) stand() {
	switch r.raft.State() {
	case raft.Leader:
		return
	case raft.Candidate:
		// Raft ends an election only at its timeout, or when it hears of a later term.
		if !r.transport.deliver(&raft.RequestVoteRequest{RPCHeader: r.transport.header(), Term: r.raft.CurrentTerm() + 1, LeadershipTransfer: true}) {
			return
		}
	}
	r.transport.deliver(&raft.TimeoutNowRequest{RPCHeader: r.transport.header()})
}

// refusesConnections reports whether a member's host refuses connections. An error without an answer, as a timeout, is no refusal.
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
		_ = c.Close() // nothing was sent
		return false
	}
	return refusal(err)
}

// refusal reports whether a dial failed because the other side refused the connection, or ended it without an answer as a proxy in front
// of a dead process does.
func refusal(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
}

package replica

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// questions ask the voters, for the reads of one tenure, whether this node still leads. A read is answered once a majority has
// answered heartbeats that were sent after the read arrived: a voter that answers has not voted in a later term before, so no other
// node can have led, and written, before the read arrived.
//
// Raft's VerifyLeader also counts answers to heartbeats that were sent earlier. Such an answer may be older than the election of
// another leader.
//
// One heartbeat at a time is on its way to each voter, and asks for all reads that arrived before it was sent. A voter that does not
// answer delays no other one. The number of reads that wait is bounded by the commits that a shard has under way.
type questions struct {
	shard  int
	term   uint64
	self   raft.ServerID
	group  questioned
	asking *sync.WaitGroup // has the goroutines that wait for an answer

	mu      sync.Mutex
	arrived uint64      // the number of the last read
	waiting []*question // in the order of their numbers
	voters  map[raft.ServerID]*asked
	closed  bool
}

// questioned is the group whose voters are asked. Its methods are safe for concurrent use.
type questioned interface {
	// members returns the latest members that this node knows.
	members() []raft.Server
	// heartbeat asks one member whether it follows a leader of a term, and returns the member's term.
	heartbeat(to raft.Server, term uint64) (uint64, error)
	// currentTerm returns the term in which this node leads, or 0 if it does not lead.
	currentTerm() uint64
}

// asked is what one voter was asked.
type asked struct {
	busy     bool   // a goroutine asks it
	answered uint64 // the voter's last answer holds for reads up to this number
}

// question is a read that waits for a majority. It implements storage.Proposal.
type question struct {
	number uint64
	done   chan struct{} // closed once err is set
	err    error
}

// Wait implements storage.Proposal.
func (q *question) Wait() error {
	<-q.done
	return q.err
}

// Done implements storage.Proposal.
func (q *question) Done() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

func newQuestions(shard int, term uint64, self string, group questioned, asking *sync.WaitGroup) *questions {
	return &questions{shard: shard, term: term, self: raft.ServerID(self), group: group, asking: asking, voters: map[raft.ServerID]*asked{}}
}

// ask asks a majority on behalf of a read. It does not wait.
func (qs *questions) ask() storage.Proposal {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.arrived++
	q := &question{number: qs.arrived, done: make(chan struct{})}
	qs.waiting = append(qs.waiting, q)
	if qs.closed {
		qs.closeLocked()
		return q
	}
	qs.askLocked()
	qs.settleLocked() // a group with one voter has its majority at once
	return q
}

// askLocked has each voter asked that no goroutine asks at the moment.
func (qs *questions) askLocked() {
	for _, m := range qs.group.members() {
		if m.Suffrage != raft.Voter || m.ID == qs.self {
			continue
		}
		a := qs.voters[m.ID]
		if a == nil {
			a = &asked{}
			qs.voters[m.ID] = a
		}
		if !a.busy {
			a.busy = true
			qs.asking.Go(func() { qs.askVoter(m, a) })
		}
	}
}

// askPause is how long a voter that could not be asked is left alone.
const askPause = 10 * time.Millisecond

// askVoter asks one voter until no read waits for its answer.
func (qs *questions) askVoter(m raft.Server, a *asked) {
	for {
		number, needed := qs.next(a)
		if !needed {
			return
		}
		if term, err := qs.group.heartbeat(m, qs.term); err == nil {
			qs.answer(a, number, term)
		} else {
			qs.review()
			<-time.After(askPause)
		}
	}
}

// next returns the number of the last read that the next heartbeat asks for. It returns false if no read waits for the voter.
func (qs *questions) next(a *asked) (number uint64, needed bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	a.busy = len(qs.waiting) > 0 && a.answered < qs.arrived
	return qs.arrived, a.busy
}

// review refuses the reads if this node does not lead any more. Whoever ends the tenure may wait for a read itself.
func (qs *questions) review() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.group.currentTerm() != qs.term {
		qs.closeLocked()
	}
}

// answer notes that a voter in a term answered a heartbeat that asked for all reads up to number.
func (qs *questions) answer(a *asked, number, term uint64) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if term > qs.term {
		qs.closeLocked()
		return
	}
	a.answered = number
	qs.settleLocked()
}

// settleLocked answers the reads for which a majority has answered.
func (qs *questions) settleLocked() {
	if qs.group.currentTerm() != qs.term { // this node may have voted for another leader
		qs.closeLocked()
		return
	}
	var answered []uint64
	for _, m := range qs.group.members() {
		switch a := qs.voters[m.ID]; {
		case m.Suffrage != raft.Voter:
		case m.ID == qs.self:
			answered = append(answered, qs.arrived)
		case a == nil:
			answered = append(answered, 0)
		default:
			answered = append(answered, a.answered)
		}
	}
	if len(answered) == 0 {
		return
	}
	slices.Sort(answered)
	agreed := answered[(len(answered)-1)/2] // a majority has answered for reads up to here
	for len(qs.waiting) > 0 && qs.waiting[0].number <= agreed {
		close(qs.waiting[0].done)
		qs.waiting = qs.waiting[1:]
	}
}

// close refuses the reads that wait, and all later ones: the tenure ends.
func (qs *questions) close() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.closeLocked()
}

func (qs *questions) closeLocked() {
	qs.closed = true
	for _, q := range qs.waiting {
		q.err = &shard.NotLeaderError{Shard: qs.shard}
		close(q.done)
	}
	qs.waiting = nil
}

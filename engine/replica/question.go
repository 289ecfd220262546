package replica

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// questions confirms that this node still leads, before the reads of one tenure are answered. A
// read is answered once a majority of the voters has answered heartbeats that were sent after the
// read arrived. A voter that answers has not voted in a later term. So no other node can have been
// elected, and can have written, before the read arrived.
//
// Raft's own VerifyLeader is not sufficient: it also counts answers to heartbeats that were sent
// before the read arrived. Such an answer may be older than the election of another leader.
//
// At most one heartbeat is in flight to each voter. Its answer confirms all reads that arrived
// before it was sent. A voter that does not answer does not delay heartbeats to the others. The
// number of waiting reads is limited by the number of commits that a shard has in flight.
type questions struct {
	shard  int
	term   uint64
	self   raft.ServerID
	group  questioned
	asking *sync.WaitGroup // waits for the goroutines that ask voters

	mu      sync.Mutex
	arrived uint64      // number of the last read, and of reads so far
	waiting []*question // ordered by number
	voters  map[raft.ServerID]*asked
	closed  bool
}

// questioned is the Raft group whose voters are asked. Its methods are safe for concurrent use.
type questioned interface {
	// members returns the newest members that this node knows.
	members() []raft.Server
	// heartbeat sends a heartbeat of the given term to one member. It returns the member's term.
	heartbeat(to raft.Server, term uint64) (uint64, error)
	// currentTerm returns the term in which this node leads, or 0 if it does not lead.
	currentTerm() uint64
}

type asked struct {
	busy     bool   // a goroutine is asking this voter
	answered uint64 // the voter has confirmed the reads up to this number
}

// question is a read that waits until a majority confirms this node's leadership. It implements
// storage.Proposal.
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

// ask registers a read and makes goroutines ask the voters. It does not wait for the answers.
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
	qs.settleLocked() // if this node is the only voter, the read is confirmed immediately
	return q
}

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

// askPause is the pause after a failed heartbeat to a voter.
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

// next returns the number of the last read that the next heartbeat can confirm. needed is false if
// no read waits for the voter.
func (qs *questions) next(a *asked) (number uint64, needed bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	a.busy = len(qs.waiting) > 0 && a.answered < qs.arrived
	return qs.arrived, a.busy
}

// review fails the waiting reads if this node no longer leads. The leadership goroutine cannot be
// relied on to do this: while it ends the tenure, it may itself wait for one of these reads.
func (qs *questions) review() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.group.currentTerm() != qs.term {
		qs.closeLocked()
	}
}

// answer records that a voter answered a heartbeat. term is the voter's term, and number is that of
// the last read that the heartbeat confirms.
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

// settleLocked answers the reads that a majority of the voters has confirmed.
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
	agreed := answered[(len(answered)-1)/2] // a majority has confirmed the reads up to this number
	for len(qs.waiting) > 0 && qs.waiting[0].number <= agreed {
		close(qs.waiting[0].done)
		qs.waiting = qs.waiting[1:]
	}
}

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

package replica

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// tenureRetry is the pause after a failed attempt to start a tenure.
const tenureRetry = 20 * time.Millisecond

// lead runs the leadership goroutine, which starts and ends all tenures. While this node leads, the
// host runs the shard.
func (r *Replica) lead() {
	// The channel buffers only the latest state, so losing and regaining leadership may appear as
	// no change.
	changed := r.raft.LeaderCh()
	var current storage.Tenure
	var retry <-chan time.Time // set while this node leads the group but could not start its tenure
	for {
		select {
		case <-r.stop:
			r.lose()
			return
		case leads := <-changed:
			if leads && r.tenure.Load() != nil && current.Term == r.raft.CurrentTerm() {
				continue
			}
		case <-r.restart:
		case <-r.review:
			if r.tenure.Load() == nil || r.refused() == nil {
				continue
			}
		case <-retry:
		// handOver first ends the tenure, which waits for pending commits. A transfer before that
		// would leave their outcomes unknown.
		case h := <-r.handOvers:
			h.done <- r.handOver(h.voters)
		}
		r.lose()
		retry = nil
		if r.raft.State() != raft.Leader {
			r.silent.Store(false)
			continue
		}
		var begun bool
		var why error
		if current, begun, why = r.begin(); why != nil {
			r.stepAside(why)
			retry = time.After(refusedPause)
		} else if !begun {
			retry = time.After(tenureRetry)
		}
	}
}

// begin starts a tenure. begun is false if that failed. why is the reason why this node must not
// lead, or nil.
func (r *Replica) begin() (_ storage.Tenure, begun bool, why error) {
	l := newTenureLog(r, storage.Tenure{Term: r.raft.CurrentTerm(), ID: rand.Uint64()})
	began := time.Now()
	allowed := make(chan error, 1)
	// Check this concurrently with the first entry, since both wait for other nodes.
	r.asking.Go(func() { allowed <- r.renew() })
	err := l.Propose(l.tenure.Begin()).Wait()
	if err == nil {
		why = <-allowed
	}
	if err != nil || why != nil {
		r.o.Log.Debug("the tenure could not begin", "term", l.tenure.Term, "refused", why, "error", err)
		close(l.over)
		return l.tenure, false, why
	}
	r.silent.Store(false)
	r.count.tenures.Add(1)
	committed := time.Since(began)
	r.inUse.RLock()
	r.tenure.Store(l)
	err = r.o.Host.Lead(r.o.Shard, r.store.Load(), l, l.tenure)
	switch {
	case err == nil:
		r.o.Log.Debug("leading", "term", l.tenure.Term, "first_entry", committed, "recovery", time.Since(began)-committed)
		return l.tenure, true, nil
	case errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrUnknownOutcome) || errors.Is(err, shard.ErrClosed):
		r.lose()
	default:
		r.o.Host.Failed(r.o.Shard, err)
	}
	return l.tenure, false, nil
}

// lose waits until all pending commands are answered, and ends the tenure.
func (r *Replica) lose() {
	l := r.tenure.Load()
	if l == nil {
		return
	}
	l.reads.close() // fail the waiting reads, since Lose waits for their answers
	r.o.Host.Lose(r.o.Shard)
	r.tenure.Store(nil)
	r.inUse.RUnlock()
	close(l.over)
	r.o.Log.Debug("no longer leading")
}

// freeStore locks inUse and returns with the lock held. During a tenure, inUse is read-locked until
// all proposals of the tenure are answered. Raft answers no proposal while it runs freeStore, so
// freeStore makes the proposals fail with an unknown outcome.
func (r *Replica) freeStore() {
	for !r.inUse.TryLock() {
		if l := r.tenure.Load(); l != nil {
			l.abandon()
		}
		<-time.After(tenureRetry)
	}
}

// Restart ends the tenure and starts another one if this node still leads. The host calls it when
// the shard has failed because a proposal was refused or has an unknown outcome.
func (r *Replica) Restart() { signal.Send(r.restart) }

// tenureLog is the group's log during one tenure.
type tenureLog struct {
	replica   *Replica
	tenure    storage.Tenure
	asked     chan *proposal // unanswered proposals, in the order in which Raft answers them
	over      chan struct{}  // closed when the tenure ends; no proposals follow
	abandoned chan struct{}  // closed when the proposals no longer wait for Raft's answers
	once      sync.Once
	reads     *questions
}

func (l *tenureLog) abandon() { l.once.Do(func() { close(l.abandoned) }) }

const (
	// proposeMax limits the time that a proposal waits for room in Raft's queue.
	proposeMax = 10 * time.Second
	// proposalsMax limits the number of pending proposals. The next proposal waits.
	proposalsMax = 256
)

func newTenureLog(r *Replica, tenure storage.Tenure) *tenureLog {
	l := &tenureLog{replica: r, tenure: tenure, asked: make(chan *proposal, proposalsMax), over: make(chan struct{}), abandoned: make(chan struct{})}
	l.reads = newQuestions(r.o.Shard, tenure.Term, r.o.Node, r, &r.asking)
	go l.settle()
	return l
}

// settle waits for Raft's answers to proposals. It needs its own goroutine, because a select cannot
// wait for Raft's futures.
func (l *tenureLog) settle() {
	for {
		select {
		case p := <-l.asked:
			p.settle()
		case <-l.over:
			for len(l.asked) > 0 {
				(<-l.asked).settle()
			}
			return
		}
	}
}

func (l *tenureLog) ask(p *proposal) storage.Proposal {
	p.shard, p.answered, p.abandoned = l.replica.o.Shard, make(chan struct{}), l.abandoned
	select {
	case l.asked <- p:
	case <-l.abandoned:
	}
	return p
}

// Propose implements storage.Log.
func (l *tenureLog) Propose(entry []byte) storage.Proposal {
	r := l.replica
	r.count.proposed.Add(1)
	at := time.Now()
	return l.ask(&proposal{future: r.raft.Apply(entry, proposeMax), observe: r.count.commit, at: at})
}

// Verify implements storage.Log.
func (l *tenureLog) Verify() storage.Proposal { return l.reads.ask() }

func (r *Replica) members() []raft.Server { return r.raft.GetConfiguration().Configuration().Servers }

func (r *Replica) currentTerm() uint64 {
	// Read the term before the state. If this node then loses leadership, and a later term starts,
	// State no longer returns Leader.
	term := r.raft.CurrentTerm()
	if r.raft.State() != raft.Leader {
		return 0
	}
	return term
}

// heartbeat implements questioned. A member answers heartbeats immediately, even while its disk is
// slow.
func (r *Replica) heartbeat(to raft.Server, term uint64) (uint64, error) {
	question := raft.AppendEntriesRequest{RPCHeader: r.transport.header(), Term: term}
	var answer raft.AppendEntriesResponse
	if err := r.transport.AppendEntries(to.ID, to.Address, &question, &answer); err != nil {
		return 0, err
	}
	if !answer.Success && answer.Term <= term {
		return 0, errNotFollowing
	}
	return answer.Term, nil
}

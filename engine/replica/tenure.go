package replica

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/signal"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// tenureRetry is the pause after a failed attempt to start a tenure.
const tenureRetry = 20 * time.Millisecond

// leadership starts and ends the tenures of this member, and hands leadership over.
type leadership struct {
	*raftGroup

	content    *localStore
	membership *membership
	// tenure is not nil while the host runs the shard. The leadership goroutine sets it.
	tenure    atomic.Pointer[tenureLog]
	restart   chan struct{} // contains an element when another tenure should replace this one
	review    chan struct{} // contains an element when the replica should check whether this node may lead
	handOvers chan handOver // requests to hand leadership over
}

// lead runs the leadership goroutine, which starts and ends all tenures. While this node leads, the
// host runs the shard.
func (l *leadership) lead() {
	// The channel buffers only the latest state, so losing and regaining leadership may appear as
	// no change.
	changed := l.raft.LeaderCh()
	var current storage.Tenure
	var retry <-chan time.Time // set while this node leads the group but could not start its tenure
	for {
		select {
		case <-l.stop:
			l.lose()
			return
		case leads := <-changed:
			if leads && l.tenure.Load() != nil && current.Term == l.raft.CurrentTerm() {
				continue
			}
		case <-l.restart:
		case <-l.review:
			if l.tenure.Load() == nil || l.refused() == nil {
				continue
			}
		case <-retry:
		// handOver first ends the tenure, which waits for pending commits. A transfer before that
		// would leave their outcomes unknown.
		case h := <-l.handOvers:
			h.done <- l.handOver(h.voters)
		}
		l.lose()
		retry = nil
		if l.raft.State() != raft.Leader {
			l.silent.Store(false)
			continue
		}
		var begun bool
		var why error
		if current, begun, why = l.begin(); why != nil {
			l.stepAside(why)
			retry = time.After(refusedPause)
		} else if !begun {
			retry = time.After(tenureRetry)
		}
	}
}

// begin starts a tenure. begun is false if that failed. why is the reason why this node must not
// lead, or nil.
func (l *leadership) begin() (_ storage.Tenure, begun bool, why error) {
	log := newTenureLog(l.raftGroup, storage.Tenure{Term: l.raft.CurrentTerm(), ID: rand.Uint64()})
	began := time.Now()
	allowed := make(chan error, 1)
	// Check this concurrently with the first entry, since both wait for other nodes.
	l.asking.Go(func() { allowed <- l.renew() })
	err := log.Propose(log.tenure.Begin()).Wait()
	if err == nil {
		why = <-allowed
	}
	if err != nil || why != nil {
		l.o.Log.Debug("the tenure could not begin", "term", log.tenure.Term, "refused", why, "error", err)
		close(log.over)
		return log.tenure, false, why
	}
	l.silent.Store(false)
	l.count.tenures.Add(1)
	committed := time.Since(began)
	l.content.inUse.RLock()
	l.tenure.Store(log)
	err = l.o.Host.Lead(l.o.Shard, l.content.store.Load(), log, log.tenure)
	switch {
	case err == nil:
		l.o.Log.Debug("leading", "term", log.tenure.Term, "first_entry", committed, "recovery", time.Since(began)-committed)
		return log.tenure, true, nil
	case errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrUnknownOutcome) || errors.Is(err, shard.ErrClosed):
		l.lose()
	default:
		l.o.Host.Failed(l.o.Shard, err)
	}
	return log.tenure, false, nil
}

// lose waits until all pending commands are answered, and ends the tenure.
func (l *leadership) lose() {
	log := l.tenure.Load()
	if log == nil {
		return
	}
	log.reads.close() // fail the waiting reads, since Lose waits for their answers
	l.o.Host.Lose(l.o.Shard)
	l.tenure.Store(nil)
	l.content.inUse.RUnlock()
	close(log.over)
	l.o.Log.Debug("no longer leading")
}

// freeStore locks inUse and returns with the lock held. During a tenure, inUse is read-locked until
// all proposals of the tenure are answered. Raft answers no proposal while it runs freeStore, so
// freeStore makes the proposals fail with an unknown outcome.
func (l *leadership) freeStore() {
	for !l.content.inUse.TryLock() {
		if log := l.tenure.Load(); log != nil {
			log.abandon()
		}
		<-time.After(tenureRetry)
	}
}

// Restart ends the tenure and starts another one if this node still leads. The host calls it when
// the shard has failed because a proposal was refused or has an unknown outcome.
func (l *leadership) Restart() { signal.Send(l.restart) }

// stepAside hands leadership over to a node that may lead. The caller has ended the tenure, because
// this node must not lead. If the transfer fails, this node stops sending to its followers. Raft
// then reaches no majority, and steps down when the leader lease ends.
func (l *leadership) stepAside(why error) {
	s, err := l.membership.Status()
	if err != nil {
		return // the replica is stopping
	}
	to, ok := l.successor(s.Members)
	switch {
	case !ok:
		err = errNoSuccessor
	case to.ID == "":
		err = l.raft.LeadershipTransfer().Error()
	default:
		err = l.raft.LeadershipTransferToServer(to.ID, to.Address).Error()
	}
	if err == nil {
		l.o.Log.Info("handed over", "to", string(to.ID), "reason", why)
		return
	}
	l.o.Log.Info("stepping down without a hand-over", "error", err, "reason", why)
	l.silent.Store(true)
}

// Review makes the replica check whether this node may lead. If the node leads although it must
// not, the replica ends the tenure and hands leadership over. If no other node takes over, it steps
// down.
func (l *leadership) Review() { signal.Send(l.review) }

// tenureLog is the group's log during one tenure.
type tenureLog struct {
	group     *raftGroup
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

func newTenureLog(r *raftGroup, tenure storage.Tenure) *tenureLog {
	l := &tenureLog{group: r, tenure: tenure, asked: make(chan *proposal, proposalsMax), over: make(chan struct{}), abandoned: make(chan struct{})}
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
	p.shard, p.answered, p.abandoned = l.group.o.Shard, make(chan struct{}), l.abandoned
	select {
	case l.asked <- p:
	case <-l.abandoned:
	}
	return p
}

// Propose implements storage.Log.
func (l *tenureLog) Propose(entry []byte) storage.Proposal {
	r := l.group
	r.count.proposed.Add(1)
	at := time.Now()
	return l.ask(&proposal{future: r.raft.Apply(entry, proposeMax), observe: r.count.commit, at: at})
}

// Verify implements storage.Log.
func (l *tenureLog) Verify() storage.Proposal { return l.reads.ask() }

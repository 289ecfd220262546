package replica

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// leadPause is how long a lead that could not begin waits before it tries again, while this node still leads.
const leadPause = 20 * time.Millisecond

// lead is the goroutine that has the host run the shard while this node leads.
func (r *Replica) lead() {
	changed := r.raft.LeaderCh() // it has the latest state only: a change there and back may show as no change
	var current storage.Lead
	var retry <-chan time.Time // set while this node leads the group and could not begin its tenure
	for {
		select {
		case <-r.stop:
			r.lose()
			return
		case leads := <-changed:
			if leads && r.leads.Load() != nil && current.Term == r.raft.CurrentTerm() {
				continue
			}
		case <-r.again:
		case <-r.review:
			if r.leads.Load() == nil || r.refused() == nil {
				continue
			}
		case <-retry:
		case h := <-r.handing: // what is under way is committed first: in a lead that just ends its outcome would be unknown
			r.lose()
			h.done <- h.transfer().Error()
		}
		r.lose()
		retry = nil
		if r.raft.State() != raft.Leader {
			r.silent.Store(false)
			continue
		}
		if why := r.renew(); why != nil {
			r.stepAside(why)
			retry = time.After(refusedPause)
			continue
		}
		r.silent.Store(false)
		var begun bool
		if current, begun = r.begin(); !begun {
			retry = time.After(leadPause)
		}
	}
}

// handing is a request to hand the lead over.
type handing struct {
	transfer func() raft.Future
	done     chan error // takes one
}

// handOver ends the lead in order, and has it transferred. When that fails this node leads on.
func (r *Replica) handOver(transfer func() raft.Future) error {
	h := handing{transfer, make(chan error, 1)}
	select {
	case r.handing <- h:
		return <-h.done
	case <-r.stop:
		return raft.ErrRaftShutdown
	}
}

// begin begins a lead, and returns false if that was not possible now.
func (r *Replica) begin() (storage.Lead, bool) {
	l := newLeadLog(r, storage.Lead{Term: r.raft.CurrentTerm(), ID: rand.Uint64()})
	if err := l.Propose(l.lead.Begin()).Wait(); err != nil {
		r.o.Log.Debug("the lead could not begin", "term", l.lead.Term, "error", err)
		close(l.over)
		return l.lead, false
	}
	r.count.leads.Add(1)
	r.inUse.RLock()
	r.leads.Store(l)
	err := r.o.Host.Lead(r.o.Shard, r.store.Load(), l, l.lead)
	switch {
	case err == nil:
		r.o.Log.Info("leading", "term", l.lead.Term)
		return l.lead, true
	case errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrUnknownOutcome) || errors.Is(err, shard.ErrClosed):
		r.lose()
	default:
		r.o.Host.Failed(r.o.Shard, err)
	}
	return l.lead, false
}

// lose ends the lead. What is under way is answered before.
func (r *Replica) lose() {
	l := r.leads.Load()
	if l == nil {
		return
	}
	r.o.Host.Lose(r.o.Shard)
	r.leads.Store(nil)
	r.inUse.RUnlock()
	close(l.over)
	r.o.Log.Info("not leading any more")
}

// freeStore returns with inUse locked. Raft answers nothing meanwhile, and the shard of a lead that was lost is there until
// all that it asked for is answered: so it gets no answers.
func (r *Replica) freeStore() {
	for !r.inUse.TryLock() {
		if l := r.leads.Load(); l != nil {
			l.giveUp()
		}
		<-time.After(leadPause)
	}
}

// Again has the lead begin anew, if this node still leads: the shard could not go on in the one that is.
func (r *Replica) Again() { signal(r.again) }

// leadLog is the group's log in one lead.
type leadLog struct {
	replica *Replica
	lead    storage.Lead
	asked   chan *proposal // waits for Raft's answers, which come in this order
	over    chan struct{}  // closed when nothing is asked any more
	given   chan struct{}  // closed when nobody waits for answers any more
	once    sync.Once

	// sure is the latest time at which something was asked that a majority agreed to afterwards. It is settle's and Verify's.
	sure atomic.Pointer[time.Time]
}

// giveUp has nobody wait for answers any more.
func (l *leadLog) giveUp() { l.once.Do(func() { close(l.given) }) }

const (
	// proposeMax is how long a proposal waits for room in Raft's queue.
	proposeMax = 10 * time.Second
	// proposalsMax is how many proposals are under way at once before another one waits.
	proposalsMax = 256
)

func newLeadLog(r *Replica, lead storage.Lead) *leadLog {
	l := &leadLog{replica: r, lead: lead, asked: make(chan *proposal, proposalsMax), over: make(chan struct{}), given: make(chan struct{})}
	l.sure.Store(&time.Time{})
	go l.settle()
	return l
}

// settle waits for Raft's answers. It is a goroutine of its own, since Raft's futures can't be waited for with anything else.
func (l *leadLog) settle() {
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

func (l *leadLog) ask(p *proposal) storage.Proposal {
	p.shard, p.answered, p.given = l.replica.o.Shard, make(chan struct{}), l.given
	select {
	case l.asked <- p:
	case <-l.given:
	}
	return p
}

// Propose implements storage.Log.
func (l *leadLog) Propose(entry []byte) storage.Proposal {
	r := l.replica
	r.count.proposed.Add(1)
	at := time.Now()
	return l.ask(&proposal{future: r.raft.Apply(entry, proposeMax), agreed: l.agreed, observe: r.count.commit, at: at})
}

func (l *leadLog) agreed(at time.Time) { l.sure.Store(&at) }

// Verify implements storage.Log. Raft's own question counts answers of the others that were under way when it was asked: after a
// pause of the process they may be from before another one was elected. So it is good only while an election can't have
// been since a majority last agreed; otherwise a majority has to agree now.
func (l *leadLog) Verify() storage.Proposal {
	r, at := l.replica, time.Now()
	if at.Sub(*l.sure.Load()) > r.o.ElectionTimeout/2 {
		return l.ask(&proposal{future: r.raft.Barrier(proposeMax), agreed: l.agreed, at: at})
	}
	return l.ask(&proposal{future: r.raft.VerifyLeader(), at: at, check: func() error {
		if l.replica.raft.CurrentTerm() != l.lead.Term { // it leads again, and not with this state
			return raft.ErrNotLeader
		}
		return nil
	}})
}

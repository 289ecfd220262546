package replica

import (
	"errors"
	"math/rand/v2"
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
	for {
		select {
		case <-r.stop:
			r.lose()
			return
		case leads := <-changed:
			if leads && r.leading.Load() && current.Term == r.raft.CurrentTerm() {
				continue
			}
		case <-r.again:
		}
		r.lose()
		for r.raft.State() == raft.Leader {
			var begun bool
			if current, begun = r.begin(); begun {
				break
			}
			select {
			case <-r.stop:
				return
			case <-time.After(leadPause):
			}
		}
	}
}

// begin begins a lead, and returns false if that was not possible now.
func (r *Replica) begin() (storage.Lead, bool) {
	lead := storage.Lead{Term: r.raft.CurrentTerm(), ID: rand.Uint64()}
	l := &leadLog{replica: r, lead: lead}
	if err := l.Propose(lead.Begin()).Wait(); err != nil {
		r.o.Log.Debug("the lead could not begin", "term", lead.Term, "error", err)
		return lead, false
	}
	r.count.leads.Add(1)
	r.leading.Store(true)
	err := r.o.Host.Lead(r.o.Shard, r.store.Load(), l, lead)
	switch {
	case err == nil:
		r.o.Log.Info("leading", "term", lead.Term)
		return lead, true
	case errors.Is(err, shard.ErrNotLeader) || errors.Is(err, shard.ErrUnknownOutcome) || errors.Is(err, shard.ErrClosed):
		r.lose()
	default:
		r.o.Host.Failed(r.o.Shard, err)
	}
	return lead, false
}

func (r *Replica) lose() {
	if r.leading.Swap(false) {
		r.o.Host.Lose(r.o.Shard)
		r.o.Log.Info("not leading any more")
	}
}

// Again has the lead begin anew, if this node still leads: the shard could not go on in the one that is.
func (r *Replica) Again() { signal(r.again) }

// leadLog is the group's log in one lead.
type leadLog struct {
	replica *Replica
	lead    storage.Lead
}

// proposeMax is how long a proposal waits for room in Raft's queue.
const proposeMax = 10 * time.Second

// Propose implements storage.Log.
func (l *leadLog) Propose(entry []byte) storage.Proposal {
	r := l.replica
	r.count.proposed.Add(1)
	p := &proposal{shard: r.o.Shard, future: r.raft.Apply(entry, proposeMax)}
	p.observe, p.at = r.count.commit, time.Now()
	return p
}

// Verify implements storage.Log.
func (l *leadLog) Verify() storage.Proposal {
	return &proposal{shard: l.replica.o.Shard, future: l.replica.raft.VerifyLeader(), check: func() error {
		if l.replica.raft.CurrentTerm() != l.lead.Term { // it leads again, and not with this state
			return raft.ErrNotLeader
		}
		return nil
	}}
}

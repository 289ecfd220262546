package replica

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// A leader that hands over serves its shard until a successor is ready: one that answers at once and has all that is committed, while
// commits take no longer than usual. Only then the tenure ends, the successor gets the last entries, and Raft transfers leadership.
// Clients wait for what is left: the last commits, one election, and the beginning of the next tenure. The node that led remains a voter
// until then, so that the successor need not wait for the slower one of the others.

const (
	// readyMax is how long a leader waits for a ready successor. After that it hands over to whoever Raft takes. In the first readyAllMax it
	// also waits for the other voters: the successor needs one of them if this node stops.
	readyMax    = time.Second
	readyAllMax = 700 * time.Millisecond
	// readyAnswer is how soon a voter that is ready answers, and readyCommit how long a commit takes at most while the leader hands over.
	readyAnswer = 5 * time.Millisecond
	readyCommit = 20 * time.Millisecond
	readyPause  = 5 * time.Millisecond
	// lastEntriesMax is how long a leader whose tenure has ended waits until its successor has the last entries. A successor that lacks
	// some would not be elected.
	lastEntriesMax   = 500 * time.Millisecond
	lastEntriesPause = 500 * time.Microsecond
	// successorMax is how long a node that led waits for the first entry of its successor's tenure.
	successorMax   = time.Second
	successorPause = time.Millisecond
)

// handOver is a request to hand leadership over.
type handOver struct {
	voters []raft.Server // any of these may lead next
	done   chan error    // takes one
}

// requestHandOver has the leadership goroutine hand over. If the transfer fails, this node begins another tenure.
func (r *Replica) requestHandOver(voters []raft.Server) error {
	term := r.raft.CurrentTerm()
	h := handOver{voters, make(chan error, 1)}
	select {
	case r.handOvers <- h:
		if err := <-h.done; err != nil {
			return err
		}
		r.awaitSuccessor(term)
		return nil
	case <-r.stop:
		return raft.ErrRaftShutdown
	}
}

// awaitSuccessor waits until this node has applied an entry of a later term, or for successorMax.
func (r *Replica) awaitSuccessor(term uint64) {
	ctx, cancel := context.WithTimeout(r.ctx, successorMax)
	defer cancel()
	for ctx.Err() == nil {
		if s := r.store.Load(); s != nil && s.Position().Term > term {
			return
		}
		pauseUntil(ctx, successorPause)
	}
}

// handOver waits for one of some voters to be ready, ends the tenure and transfers leadership. The leadership goroutine calls it.
func (r *Replica) handOver(voters []raft.Server) error {
	began := time.Now()
	to := r.awaitReady(voters)
	ready := time.Now()
	r.lose() // waits for the commits under way: a transfer without that would leave their outcomes unknown
	answered := time.Now()
	var transferred raft.Future
	if to.ID == "" {
		transferred = r.raft.LeadershipTransfer()
	} else {
		r.awaitLastEntries(to)
		transferred = r.raft.LeadershipTransferToServer(to.ID, to.Address)
	}
	err := transferred.Error()
	r.o.Log.Debug("handing leadership over", "to", string(to.ID), "ready", ready.Sub(began), "last_answers", answered.Sub(ready),
		"transfer", time.Since(answered), "error", err)
	return err
}

// awaitReady returns one of some voters that is ready. If none is in time, it returns the zero value, or the voter if there is only one.
func (r *Replica) awaitReady(voters []raft.Server) raft.Server {
	ctx, cancel := context.WithTimeout(r.ctx, readyMax)
	defer cancel()
	began := time.Now()
	for len(voters) > 0 && ctx.Err() == nil && r.serves() {
		first, ready, answered := r.readyVoters(ctx, voters)
		if ready > 0 && (ready == answered || time.Since(began) > readyAllMax) && r.commitsFast() {
			return first
		}
		pauseUntil(ctx, readyPause)
	}
	if len(voters) == 1 {
		return voters[0]
	}
	return raft.Server{}
}

// serves reports whether this node's tenure goes on, as far as the leadership goroutine knows without its events.
func (r *Replica) serves() bool {
	return r.tenure.Load() != nil && r.raft.State() == raft.Leader && len(r.restart) == 0 && len(r.review) == 0
}

// readyVoters asks some voters at once. It returns the first that is ready, how many are ready, and how many answered at all.
func (r *Replica) readyVoters(ctx context.Context, voters []raft.Server) (first raft.Server, ready, answered int) {
	type answer struct {
		from            raft.Server
		ready, answered bool
	}
	answers := make(chan answer, len(voters))
	committed := r.raft.CommitIndex()
	for _, v := range voters {
		r.asking.Go(func() {
			began := time.Now()
			its, err := r.standing(v)
			answers <- answer{v, err == nil && its.LastLog >= committed && time.Since(began) <= readyAnswer, err == nil}
		})
	}
	for range voters {
		select {
		case a := <-answers:
			if a.ready {
				if ready++; ready == 1 {
					first = a.from
				}
			}
			if a.answered {
				answered++
			}
		case <-ctx.Done():
			return first, ready, len(voters)
		}
	}
	return first, ready, answered
}

// commitsFast reports whether a commit takes no longer than usual now. The tenure ends with the commits under way.
func (r *Replica) commitsFast() bool {
	began := time.Now()
	return r.raft.Barrier(readyMax).Error() == nil && time.Since(began) <= readyCommit
}

func pauseUntil(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// awaitLastEntries waits until a voter has all entries of this node's log, or for lastEntriesMax.
func (r *Replica) awaitLastEntries(to raft.Server) {
	ctx, cancel := context.WithTimeout(r.ctx, lastEntriesMax)
	defer cancel()
	last := r.raft.LastIndex()
	for ctx.Err() == nil {
		has := make(chan bool, 1)
		r.asking.Go(func() {
			its, err := r.standing(to)
			has <- err == nil && its.LastLog >= last
		})
		select {
		case <-ctx.Done():
		case all := <-has:
			if all {
				return
			}
			pauseUntil(ctx, lastEntriesPause)
		}
	}
}

package replica

import (
	"context"
	"time"

	"github.com/hashicorp/raft"
)

// A leader that hands over serves its shard until a successor is ready. A successor is ready if it
// answers promptly and has all committed entries. In addition, commits must take no longer than
// usual. Only then does the tenure end, the successor receive the last entries, and Raft transfer
// leadership. Clients wait only for the last commits, one election, and the start of the next
// tenure. The old leader remains a voter during the transfer, so the successor does not depend on
// the slowest voter.

const (
	// readyMax limits the wait for a ready successor. After that, Raft chooses the successor.
	// During the first readyAllMax, the leader waits until all voters that answer are ready: if
	// this node stops after the hand-over, the successor needs one of them for a majority.
	readyMax    = time.Second
	readyAllMax = 700 * time.Millisecond
	// readyAnswer is the maximum answer time of a ready voter. readyCommit is the maximum time of a
	// commit that is fast enough for a hand-over.
	readyAnswer = 5 * time.Millisecond
	readyCommit = 20 * time.Millisecond
	readyPause  = 5 * time.Millisecond
	// lastEntriesMax limits the wait for the successor to receive the last entries after the tenure
	// has ended. A successor that lacks some of them would lose the election.
	lastEntriesMax   = 500 * time.Millisecond
	lastEntriesPause = 500 * time.Microsecond
	// successorMax limits the wait for the first entry of the successor's tenure.
	successorMax   = time.Second
	successorPause = time.Millisecond
)

// handOver is a request to hand leadership over to one of the voters.
type handOver struct {
	voters []raft.Server // candidates for the next leader
	done   chan error    // receives the result once
}

// requestHandOver makes the leadership goroutine hand over, and returns the result. If the transfer
// fails, this node starts another tenure.
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

// awaitSuccessor waits until this node has applied an entry of a later term. It waits for at most
// successorMax.
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

// handOver waits until one of voters is ready, ends the tenure and transfers leadership. The
// leadership goroutine calls it.
func (r *Replica) handOver(voters []raft.Server) error {
	began := time.Now()
	to := r.awaitReady(voters)
	ready := time.Now()
	r.lose() // waits for pending commits: a transfer before that would leave their outcomes unknown
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

// awaitReady returns a voter that is ready. If none is ready in time, it returns the only voter, or
// the zero value if there are several.
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

// serves reports whether this node's tenure continues. It also considers events that the leadership
// goroutine has not processed yet.
func (r *Replica) serves() bool {
	return r.tenure.Load() != nil && r.raft.State() == raft.Leader && len(r.restart) == 0 && len(r.review) == 0
}

// readyVoters asks voters concurrently whether they are ready. It returns the first voter that is
// ready, the number of ready voters, and the number of voters that answered.
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

// commitsFast reports whether a commit currently takes no longer than readyCommit. This matters
// because ending the tenure waits for pending commits.
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

// awaitLastEntries waits until a voter has all entries of this node's log. It waits for at most
// lastEntriesMax.
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

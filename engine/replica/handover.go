package replica

import (
	"cmp"
	"context"
	"fmt"
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
func (l *leadership) requestHandOver(voters []raft.Server) error {
	term := l.raft.CurrentTerm()
	h := handOver{voters, make(chan error, 1)}
	select {
	case l.handOvers <- h:
		if err := <-h.done; err != nil {
			return err
		}
		l.awaitSuccessor(term)
		return nil
	case <-l.stop:
		return raft.ErrRaftShutdown
	}
}

// awaitSuccessor waits until this node has applied an entry of a later term. It waits for at most
// successorMax.
func (l *leadership) awaitSuccessor(term uint64) {
	ctx, cancel := context.WithTimeout(l.ctx, successorMax)
	defer cancel()
	for ctx.Err() == nil {
		if s := l.content.store.Load(); s != nil && s.Position().Term > term {
			return
		}
		pauseUntil(ctx, successorPause)
	}
}

// handOver waits until one of voters is ready, ends the tenure and transfers leadership. The
// leadership goroutine calls it.
func (l *leadership) handOver(voters []raft.Server) error {
	began := time.Now()
	to := l.awaitReady(voters)
	ready := time.Now()
	l.lose() // waits for pending commits: a transfer before that would leave their outcomes unknown
	answered := time.Now()
	var transferred raft.Future
	if to.ID == "" {
		transferred = l.raft.LeadershipTransfer()
	} else {
		l.awaitLastEntries(to)
		transferred = l.raft.LeadershipTransferToServer(to.ID, to.Address)
	}
	err := transferred.Error()
	l.o.Log.Debug("handing leadership over", "to", string(to.ID), "ready", ready.Sub(began), "last_answers", answered.Sub(ready),
		"transfer", time.Since(answered), "error", err)
	return err
}

// awaitReady returns a voter that is ready. If none is ready in time, it returns the only voter, or
// the zero value if there are several.
func (l *leadership) awaitReady(voters []raft.Server) raft.Server {
	ctx, cancel := context.WithTimeout(l.ctx, readyMax)
	defer cancel()
	began := time.Now()
	for len(voters) > 0 && ctx.Err() == nil && l.serves() {
		first, ready, answered := l.readyVoters(ctx, voters)
		if ready > 0 && (ready == answered || time.Since(began) > readyAllMax) && l.commitsFast() {
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
func (l *leadership) serves() bool {
	return l.tenure.Load() != nil && l.raft.State() == raft.Leader && len(l.restart) == 0 && len(l.review) == 0
}

// readyVoters asks voters concurrently whether they are ready. It returns the first voter that is
// ready, the number of ready voters, and the number of voters that answered.
func (l *leadership) readyVoters(ctx context.Context, voters []raft.Server) (first raft.Server, ready, answered int) {
	type answer struct {
		from            raft.Server
		ready, answered bool
	}
	answers := make(chan answer, len(voters))
	committed := l.raft.CommitIndex()
	for _, v := range voters {
		l.asking.Go(func() {
			began := time.Now()
			its, err := l.standing(v)
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
func (l *leadership) commitsFast() bool {
	began := time.Now()
	return l.raft.Barrier(readyMax).Error() == nil && time.Since(began) <= readyCommit
}

func pauseUntil(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// awaitLastEntries waits until a voter has all entries of this node's log. It waits for at most
// lastEntriesMax.
func (l *leadership) awaitLastEntries(to raft.Server) {
	ctx, cancel := context.WithTimeout(l.ctx, lastEntriesMax)
	defer cancel()
	last := l.raft.LastIndex()
	for ctx.Err() == nil {
		has := make(chan bool, 1)
		l.asking.Go(func() {
			its, err := l.standing(to)
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

// Transfer hands leadership over to the given node, or to any voter if node is "". It returns after
// this node has lost leadership. It does nothing if this node does not lead.
func (l *leadership) Transfer(node string) error {
	if l.raft.State() != raft.Leader || node == l.o.Node {
		return nil
	}
	s, err := l.membership.Status()
	if err != nil {
		return err
	}
	if node == "" {
		to, ok := l.successor(s.Members)
		if !ok {
			return l.changed("hand over to", "any", errNoSuccessor)
		}
		node = string(to.ID)
	}
	var voters []raft.Server
	for _, m := range s.Members {
		if m.Suffrage == raft.Voter && string(m.ID) != l.o.Node && (node == "" || string(m.ID) == node) {
			voters = append(voters, m)
		}
	}
	if len(voters) > 0 || node == "" {
		return l.changed("hand over to", cmp.Or(node, "any"), l.requestHandOver(voters))
	}
	// Return before the tenure ends, since the transfer would fail.
	return fmt.Errorf("shard %d: hand over to node %q: it is not a voter", l.o.Shard, node)
}

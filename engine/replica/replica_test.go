package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// TestALeaderClosesUnderLoad closes members in the middle of what they decide: all that waits is answered.
func TestALeaderClosesUnderLoad(t *testing.T) {
	g := newGroup(t, nil)
	for range 8 {
		leader := g.leader()
		ctx, cancel := context.WithCancel(context.Background())
		clients := leader.loaded(ctx, 32)
		g.fill(20) // on a busy host another member may lead by then
		g.stop(leader)
		cancel()
		clients.Wait()
		g.start(leader)
	}
	g.same()
}

// small cuts the log often, keeps little of it, and sends little in one message.
func small(o *Options) { o.SnapshotBytes, o.TrailingBytes, o.AppendEntriesMax = 50_000, 10_000, 8 }

// fillBeyond enqueues at the members that a member can't reach until it needs a store to catch up, whichever of
// them leads then: until each has cut its log beyond all that the member has or is still to receive. The network
// keeps what was sent to a member that is cut off, which is at most AppendEntriesMax entries in each of the
// messages in flight. A log is cut some time after the entries were applied, so no number of tasks is enough on
// every host.
func (g *group) fillBeyond(away *member) {
	g.Helper()
	others := g.others(away)
	var last uint64
	for _, m := range g.members {
		if m.Replica == nil {
			continue
		}
		n, err := m.o.Logs.LastIndex()
		require.NoError(g, err)
		last = max(last, n+2*uint64(m.o.AppendEntriesMax*DefaultMessagesInFlight))
	}
	for slices.ContainsFunc(others, func(id string) bool { return g.members[id].firstEntry() <= last }) {
		g.fill(1, others...)
	}
}

// TestAMemberThatWasAwayForLongerThanTheLogCatchesUp is sent a store, while the others work.
func TestAMemberThatWasAwayForLongerThanTheLogCatchesUp(t *testing.T) {
	g := newGroup(t, small)
	g.fill(50)
	leader := g.leader()
	away := g.members[g.others(leader)[0]]
	g.stop(away)
	g.fillBeyond(away)
	g.start(away)
	g.caughtUp(away, g.leader())
	require.Eventually(t, func() bool { return away.Counters().Installed > 0 }, patience, step)
	g.same()
	// It goes on from there, with what it has and no more.
	g.stop(away)
	g.start(away)
	g.same()
	g.stop(g.leader())
	g.fill(50)
}

// TestALeaderThatWasCutOffTakesAStoreOver has a leader come back to a group whose log is cut beyond its own.
func TestALeaderThatWasCutOffTakesAStoreOver(t *testing.T) {
	g := newGroup(t, small)
	for range 3 {
		old := g.leader()
		ctx, cancel := context.WithCancel(context.Background())
		clients := old.loaded(ctx, 8)
		for _, id := range g.others(old) {
			g.net.Drop(old.id, id)
			g.net.Drop(id, old.id)
		}
		g.fillBeyond(old)
		before := old.Counters().Installed
		g.net.Heal()
		g.caughtUp(old, g.leader())
		cancel()
		clients.Wait()
		require.Eventually(t, func() bool { return old.Counters().Installed > before }, patience, step)
	}
	g.same()
}

// snapshotsAllTheTime asks for snapshots of a member until it is stopped.
func snapshotsAllTheTime(m *member) (stop func()) {
	ended := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
				_ = m.Snapshot() // it may be refused
			}
		}
	})
	return func() {
		close(ended)
		asking.Wait()
	}
}

// TestAStoreIsTakenOverWhileTheOldOneIsFlushed asks for snapshots of a member all the time.
func TestAStoreIsTakenOverWhileTheOldOneIsFlushed(t *testing.T) {
	g := newGroup(t, small)
	for range 5 {
		leader := g.leader()
		away := g.members[g.others(leader)[0]]
		for _, id := range g.others(away) {
			g.net.Drop(away.id, id)
			g.net.Drop(id, away.id)
		}
		g.fillBeyond(away)
		before := away.Counters().Installed
		stop := snapshotsAllTheTime(away)
		g.net.Heal()
		installed := assert.Eventually(t, func() bool { return away.Counters().Installed > before }, patience, step)
		stop()
		require.True(t, installed, "no store was taken over")
		g.caughtUp(away, g.leader())
		g.stop(away)
		g.start(away)
	}
	g.same()
}

// TestAShardThatStillProposesDoesNotKeepAStoreFromBeingTakenOver has something wait in Raft's queue while Raft waits for the
// store to be taken over, which waits for the shard to be gone, which waits for its answers.
func TestAShardThatStillProposesDoesNotKeepAStoreFromBeingTakenOver(t *testing.T) {
	g := newGroup(t, small)
	g.fill(20)
	old := g.leader()
	log := *old.log.Load()
	stop, stopped := make(chan struct{}), make(chan struct{})
	old.losing = func() { // the shard has decided something, and goes after it was answered
		assert.Eventually(t, func() bool { return old.snapshots.toInstall() != "" }, patience, step)
		close(stop)
		<-stopped
		_, err := old.Store().Audit(1_000) // until then it reads the store
		assert.NoError(t, err)
		old.losing = nil
	}
	for _, id := range g.others(old) {
		g.net.Drop(old.id, id)
		g.net.Drop(id, old.id)
	}
	g.fillBeyond(old)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				err := log.Propose(storage.Tenure{}.Begin()).Wait() // it is of no term, and never applied
				if errors.Is(err, shard.ErrUnknownOutcome) {
					return
				}
			}
		}
	}()
	g.net.Heal()
	g.caughtUp(old, g.leader(g.others(old)...))
	g.same()
}

// TestALeadGoesToTheMemberThatIsNamed hands it over under load, to each in turn.
func TestALeadGoesToTheMemberThatIsNamed(t *testing.T) {
	g := newGroup(t, nil)
	g.fill(1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, m := range g.members {
		defer m.loaded(ctx, 4).Wait()
	}
	defer cancel()
	for _, to := range []string{"n1", "n2", "n3", "n1", "n2", "n3"} {
		leader := g.leader()
		g.caughtUp(g.members[to], leader)
		require.NoError(t, leader.Transfer(to))
		require.Same(t, g.members[to], g.leader(to))
	}
	cancel()
}

// TestALeaderThatIsCutOffAnswersNothing asks it for what it knows by itself, before it can know that it does not lead.
func TestALeaderThatIsCutOffAnswersNothing(t *testing.T) {
	g := newGroup(t, nil)
	g.fill(5)
	for range 3 {
		old := g.leader()
		s := old.shard.Load()
		queues, err := old.ask(s.Stats)
		require.NoError(t, err)
		require.Len(t, queues, 1)
		for _, id := range g.others(old) {
			g.net.Drop(old.id, id)
			g.net.Drop(id, old.id)
		}
		_, err = old.ask(s.Stats)
		require.Error(t, err)
		g.fill(5, g.others(old)...)
		_, err = old.ask(s.Stats)
		require.ErrorIs(t, err, shard.ErrNotLeader)
		g.net.Heal()
	}
	g.same()
}

// ask asks a shard for its figures, and waits.
func (m *member) ask(stats func(func([]queue.Stats, error)) error) (out []queue.Stats, err error) {
	answered := make(chan struct{})
	refused := stats(func(found []queue.Stats, e error) {
		out, err = found, e
		close(answered)
	})
	if refused != nil {
		return nil, refused
	}
	select {
	case <-answered:
		return out, err
	case <-time.After(patience):
		return nil, context.DeadlineExceeded
	}
}

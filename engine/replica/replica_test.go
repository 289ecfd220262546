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

// Closing members under load answers all pending requests.
func TestALeaderClosesUnderLoad(t *testing.T) {
	g := newGroup(t, nil)
	for range 8 {
		leader := g.leader()
		ctx, cancel := context.WithCancel(context.Background())
		clients := leader.loaded(ctx, 32)
		g.fill(20) // on a busy host, another member may lead now
		g.stop(leader)
		cancel()
		clients.Wait()
		g.start(leader)
	}
	g.same()
}

// small makes members cut the log often, retain little of it, and send few entries per message.
func small(o *Options) { o.SnapshotBytes, o.TrailingBytes, o.AppendEntriesMax = 50_000, 10_000, 8 }

// fillBeyond enqueues tasks until the member that is cut off, away, can catch up only from a store:
// until each other member has cut its log beyond all that away has or will still receive. The
// network buffers what was sent to away: at most AppendEntriesMax entries in each of the messages
// in flight. A log is cut some time after its entries were applied, so no fixed number of tasks is
// enough on every host.
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

// A member that was away for a long time receives a store while the others work.
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
	// After a restart, it continues from its own store.
	g.stop(away)
	g.start(away)
	g.same()
	g.stop(g.leader())
	g.fill(50)
}

// An old leader returns to a group whose log is cut beyond its own.
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

// snapshotsAllTheTime repeatedly takes snapshots of a member until it is stopped.
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

// A member installs a store while snapshots are taken repeatedly.
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
		require.True(t, installed, "no store was installed")
		g.caughtUp(away, g.leader())
		g.stop(away)
		g.start(away)
	}
	g.same()
}

// A proposal waits in Raft's queue. Raft waits for the installation of a store, the installation
// waits for the shard to stop, and the shard waits for the answer to its proposal. The installation
// must not deadlock.
func TestAShardThatStillProposesDoesNotKeepAStoreFromBeingTakenOver(t *testing.T) {
	g := newGroup(t, small)
	g.fill(20)
	old := g.leader()
	log := *old.log.Load()
	stop, stopped := make(chan struct{}), make(chan struct{})
	old.losing = func() { // the shard has a pending decision, and stops after it is answered
		assert.Eventually(t, func() bool { return old.snapshots.toInstall() != "" }, patience, step)
		close(stop)
		<-stopped
		_, err := old.Store().Audit(1_000) // until then, the audit reads the store
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
				// Has an invalid term, so it is never applied.
				err := log.Propose(storage.Tenure{}.Begin()).Wait()
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

// Leadership is handed over to each member in turn, under load.
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
		g.transfer(to)
	}
	cancel()
}

// An isolated leader is asked before it can know that it no longer leads.
func TestALeaderThatIsCutOffAnswersNothing(t *testing.T) {
	g := newGroup(t, nil)
	g.fill(5)
	for rounds := 3; rounds > 0; {
		old := g.leader()
		s := old.shard.Load()
		if s == nil { // an election on a busy host
			continue
		}
		queues, err := old.ask(s.Stats)
		if errors.Is(err, shard.ErrNotLeader) {
			continue // as above
		}
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
		rounds--
	}
	g.same()
}

// ask reads figures from a shard and waits for the answer.
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

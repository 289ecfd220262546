package replica

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// A leader without a successor keeps leading: the transfer fails.
func TestALeadThatNobodyTakesIsKept(t *testing.T) {
	g := newGroup(t, func(o *Options) { o.Bootstrap = o.Bootstrap[:1] })
	g.fill(1, "n1")
	leader := g.members["n1"]
	require.Error(t, leader.Transfer(""))
	g.fill(10, "n1")
}

// appendGate delays a member's writes to its log, like a slow disk.
type appendGate struct {
	Logs

	mu   sync.Mutex
	open chan struct{} // nil: no delay
}

func (l *appendGate) StoreLogs(entries []*raft.Log) error {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	if open != nil {
		<-open
	}
	return l.Logs.StoreLogs(entries)
}

// hold delays the member's writes from now on, until the returned function is called.
func (l *appendGate) hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(chan struct{})
	l.open = open
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open = nil
		close(open)
	})
}

// newSlowGroup starts a group of three led by n1. The gate is n2's.
func newSlowGroup(t *testing.T) (g *group, leader *member, gate *appendGate) {
	gate = &appendGate{}
	g = newGroup(t, func(o *Options) {
		slowElections(o)
		if o.Node == "n2" {
			gate.Logs = o.Logs
			o.Logs = gate
		}
	})
	leader = g.elect()
	g.fill(3, leader.id)
	g.caughtUp(g.members["n2"], leader)
	g.caughtUp(g.members["n3"], leader)
	return g, leader, gate
}

func (m *member) voters(t *testing.T, ids ...string) (voters []raft.Server) {
	t.Helper()
	for _, s := range m.members() {
		for _, id := range ids {
			if string(s.ID) == id {
				voters = append(voters, s)
			}
		}
	}
	require.Len(t, voters, len(ids))
	return voters
}

// A follower that lacks committed entries would not be elected, and one with a hanging disk could
// not vote.
func TestTheSuccessorHasAllThatIsCommitted(t *testing.T) {
	g, leader, gate := newSlowGroup(t)
	release := gate.hold()
	defer release()
	g.fill(3, leader.id)
	first, ready, answered := leader.readyVoters(t.Context(), leader.voters(t, "n2"))
	require.Empty(t, first)
	require.Equal(t, []int{0, 1}, []int{ready, answered})
	require.NoError(t, leader.Transfer(""))
	next := g.leader(g.others(leader)...)
	require.Equal(t, "n3", next.id)
	release()
	g.fill(1, next.id)
	g.same()
}

// A leader waits until the only possible successor is ready.
func TestTheSuccessorIsReadyOnceItHasCaughtUp(t *testing.T) {
	g, leader, gate := newSlowGroup(t)
	release := gate.hold()
	defer release()
	g.fill(3, leader.id)
	release()
	voters := leader.voters(t, "n2", "n3")
	require.Eventually(t, func() bool {
		_, ready, answered := leader.readyVoters(t.Context(), voters)
		return ready == 2 && answered == 2
	}, patience, step)
	back := g.kill(g.members["n3"])
	defer back()
	require.Eventually(t, func() bool {
		to, ready, answered := leader.readyVoters(t.Context(), voters)
		return to.ID == "n2" && ready == 1 && answered == 1
	}, patience, step, "a voter that is down is not waited for")
}

// The old leader remains a voter until its successor's tenure has begun, because the other voter
// may be slow.
func TestWhoHandsOverRemainsUntilTheSuccessorHasBegun(t *testing.T) {
	g, leader, gate := newSlowGroup(t)
	defer gate.hold()()
	g.fill(1, leader.id)
	began := time.Now()
	require.NoError(t, leader.Transfer("n3"))
	next := g.members["n3"]
	if leader.Store().Position().Term < next.Term() {
		require.GreaterOrEqual(t, time.Since(began), successorMax, "the old leader has not applied the first entry")
	}
	g.fill(3, next.id)
}

// The transfer begins once the successor has the last entries.
func TestTheSuccessorGetsTheLastEntries(t *testing.T) {
	g, leader, gate := newSlowGroup(t)
	to := leader.voters(t, "n2")[0]
	for {
		release := gate.hold()
		g.fill(3, leader.id)
		waited := make(chan uint64, 1)
		began := time.Now()
		go func() {
			leader.awaitLastEntries(to)
			waited <- g.members["n2"].raft.LastIndex()
		}()
		early := false
		select {
		case <-waited:
			early = true
		case <-time.After(lastEntriesMax / 10):
		}
		release()
		if !early {
			if <-waited >= leader.raft.LastIndex() {
				return
			}
		}
		// A pause of the host made the wait reach its limit.
		require.GreaterOrEqual(t, time.Since(began), lastEntriesMax, "the hand-over did not wait")
		g.caughtUp(g.members["n2"], leader)
	}
}

// slowPermission allows this node to lead only after the first entry of the tenure is applied.
type slowPermission struct {
	at func() *Replica
}

func (slowPermission) Refused() error { return nil }

func (p slowPermission) Renew(ctx context.Context) error {
	for r := p.at(); r == nil || r.Store().Position().Term < r.Term(); r = p.at() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(step):
		}
	}
	return nil
}

func (slowPermission) Successor([]string) (string, bool) { return "", true }

// Renewing the permission and committing the first entry of the tenure both wait for other nodes.
// They must happen concurrently.
func TestATenureBeginsWhileItsPermissionIsRenewed(t *testing.T) {
	var g *group
	var mu sync.Mutex
	at := func(id string) func() *Replica {
		return func() *Replica {
			mu.Lock()
			defer mu.Unlock()
			if g == nil {
				return nil
			}
			return g.members[id].Replica
		}
	}
	started := newGroup(t, func(o *Options) { o.Permission = slowPermission{at(o.Node)} })
	mu.Lock()
	g = started
	mu.Unlock()
	g.fill(1)
	g.same()
}

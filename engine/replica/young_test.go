package replica

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/storage"
)

// crash simulates a kill of a member's process and a restart.
func (g *group) crash(m *member) {
	g.Helper()
	left := m.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	g.stop(m)
	m.files = left
	g.start(m)
}

// firstEntry returns the first index of a member's log.
func (m *member) firstEntry() uint64 {
	first, err := m.o.Logs.FirstIndex()
	require.NoError(m, err)
	return first
}

// A killed member recovers the tasks that exist only in its log: the log retains them although a
// snapshot is newer.
func TestAKilledMemberHasTheTasksOfItsLog(t *testing.T) {
	g := newGroupOn(t, nil, vfs.NewCrashableMem)
	g.fill(60)
	for _, m := range g.members {
		g.caughtUp(m, g.leader())
		require.NoError(t, m.Snapshot())
		require.Less(t, m.firstEntry(), uint64(10), "the tasks of the first entries exist only in the log")
	}
	g.fill(20)
	away := g.members[g.others(g.leader())[0]]
	g.caughtUp(away, g.leader())
	g.filled(80, uint64(away.Store().Young().Records))
	g.crash(away)
	require.GreaterOrEqual(t, away.Store().Young().Records, int64(60))
	g.same()
	g.transfer(away.id)
	g.same()
	for _, m := range g.members {
		g.caughtUp(m, g.leader())
		require.NoError(t, m.storeYoung(10))
		require.NoError(t, m.Snapshot())
		assert.Greater(t, m.firstEntry(), uint64(50), "the tasks are stored, and the log is cut")
	}
	g.crash(g.members[g.others(g.leader())[0]])
	g.same()
}

// A member whose log lacks required entries reports that, with the remedy.
func TestALogThatLacksYoungTasksIsNamed(t *testing.T) {
	g := newGroupOn(t, nil, vfs.NewCrashableMem)
	g.fill(30)
	m := g.members[g.others(g.leader())[0]]
	g.caughtUp(m, g.leader())
	require.NoError(t, m.Snapshot())
	left := m.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))})
	g.stop(m)
	l, err := logs.Open(m.dir+"/raft", logs.Options{Durability: storage.None, FS: left})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	require.NoError(t, l.Group(0).DeleteRange(1, 20))
	_, err = Open(Options{
		Node: m.id, Dir: m.dir + "/store", Snapshots: m.dir + "/snapshots", Logs: l.Group(0),
		Host: m, Store: storage.Options{Durability: storage.None, FS: left},
	})
	require.ErrorContains(t, err, "the log lacks entry ")
	require.ErrorContains(t, err, "remove this node's data folder, and let it join again")
}

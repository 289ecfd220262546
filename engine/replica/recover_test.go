package replica

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/storage"
)

// received copies a member's store to the place where a stopped member keeps a received snapshot.
func (g *group) received(by, from *member) {
	g.Helper()
	require.NoError(g, from.Snapshot())
	meta, stream, err := from.snapshots.Open(from.snapshots.latest().Meta.ID)
	require.NoError(g, err)
	to, err := openSnapshots(filepath.Join(by.dir, "snapshots"), nil)
	require.NoError(g, err)
	sink, err := to.Create(meta.Version, meta.Index, meta.Term, meta.Configuration, meta.ConfigurationIndex, nil)
	require.NoError(g, err)
	n, err := io.Copy(sink, stream)
	require.NoError(g, err)
	assert.Equal(g, meta.Size, n, "the size was announced before")
	require.NoError(g, stream.Close())
	require.NoError(g, sink.Close())
}

// A node that dies while it installs a received store completes the installation at the next start,
// wherever it was interrupted.
func TestAnInterruptedInstallIsDoneAgain(t *testing.T) {
	g := newGroup(t, small)
	g.fill(100)
	for what, happened := range map[string]func(store string) error{
		"before the start":              func(string) error { return nil },
		"old store removed":             os.RemoveAll,
		"new store begun":               func(store string) error { return os.MkdirAll(store+".new", 0o700) },
		"half of the old store removed": func(store string) error { return os.Remove(filepath.Join(store, "SEAL")) },
		"half of the new store written": func(store string) error { return os.WriteFile(filepath.Join(store, "000999.sst"), []byte("x"), 0o600) },
		"unfinished copy": func(store string) error {
			return os.MkdirAll(filepath.Join(filepath.Dir(store), "snapshots", copyName+"-1", "store"), 0o700)
		},
	} {
		leader := g.leader()
		away := g.members[g.others(leader)[0]]
		g.stop(away)
		g.fill(50)
		g.received(away, g.leader())
		require.NoError(t, happened(filepath.Join(away.dir, "store")), what)
		g.start(away)
		assert.Empty(t, away.snapshots.toInstall(), what)
		g.same()
		left, err := filepath.Glob(filepath.Join(away.dir, "*.new"))
		require.NoError(t, err)
		more, err := filepath.Glob(filepath.Join(away.dir, "snapshots", "*-1"))
		require.NoError(t, err)
		assert.Empty(t, append(left, more...), what)
	}
}

// A power loss may remove the end of a log that is not fsynced, so that the store is ahead of the
// log.
func TestLogsThatLostTheirEndGoOnFromTheStores(t *testing.T) {
	g := newGroup(t, nil)
	g.fill(100)
	for _, m := range g.members {
		g.caughtUp(m, g.leader())
	}
	for id, lost := range map[string]uint64{"n1": 10, "n2": 60, "n3": 1_000} {
		m := g.members[id]
		g.stop(m)
		s, err := logs.Open(filepath.Join(m.dir, "raft"), logs.Options{Durability: storage.None})
		require.NoError(t, err)
		last, err := s.Group(0).LastIndex()
		require.NoError(t, err)
		first, err := s.Group(0).FirstIndex()
		require.NoError(t, err)
		require.NoError(t, s.Group(0).DeleteRange(max(first, last-min(last-1, lost)), last))
		require.NoError(t, s.Close())
	}
	for _, m := range g.members {
		g.start(m)
	}
	g.fill(10)
	g.same()
	audited, err := g.leader().Store().Audit(1_000)
	require.NoError(t, err)
	g.filled(111, audited[0].Stored) // all applied tasks are present
	for _, m := range g.members {    // the result survives another restart
		g.stop(m)
		g.start(m)
	}
	g.same()
}

// A member without its store cannot continue from a log that was cut.
func TestAStoreThatIsMissingIsNamed(t *testing.T) {
	g := newGroup(t, small)
	g.fill(100)
	m := g.members[g.others(g.leader())[0]]
	require.Eventually(t, func() bool { return m.snapshots.latest() != nil }, patience, step)
	g.stop(m)
	require.NoError(t, os.RemoveAll(filepath.Join(m.dir, "store")))
	l, err := logs.Open(filepath.Join(m.dir, "raft"), logs.Options{Durability: storage.None})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, err = Open(Options{
		Node: m.id, Dir: filepath.Join(m.dir, "store"), Snapshots: filepath.Join(m.dir, "snapshots"), Logs: l.Group(0),
		Host: m, Store: storage.Options{Durability: storage.None},
	})
	require.ErrorContains(t, err, "entries are missing; remove this node's data folder, and let it join again")
}

func TestADamagedRecordOfSnapshotsIsNamed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, recordName), []byte("{"), 0o600))
	_, err := openSnapshots(dir, nil)
	require.ErrorContains(t, err, recordName)
	require.ErrorContains(t, err, "let it join again")
}

// A received store may contain only plain files in one folder.
func TestOtherThanAStoreIsNotUnpacked(t *testing.T) {
	s, err := openSnapshots(t.TempDir(), func(dir string) error { return os.MkdirAll(filepath.Join(dir, "folder"), 0o700) })
	require.NoError(t, err)
	require.NoError(t, s.note(newRecord(raft.SnapshotVersionMax, 5, 1, raft.Configuration{}, 1)))
	_, _, err = s.Open("1-5")
	require.ErrorContains(t, err, "folder is not a file")
	_, _, err = s.Open("1-4")
	require.ErrorIs(t, err, errNoSnapshot)
	garbage := filepath.Join(t.TempDir(), "garbage")
	require.NoError(t, os.WriteFile(garbage, make([]byte, 100), 0o600))
	require.ErrorContains(t, unpack(garbage, filepath.Join(t.TempDir(), "new")), "read the received snapshot")
}

package replica

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// stoodAlone makes a store with n tasks like that of a single server.
func stoodAlone(t *testing.T, dir string, n int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o700))
	store, err := storage.Open(dir, storage.Options{Durability: storage.None})
	require.NoError(t, err)
	s, err := shard.New(store, shard.Options{})
	require.NoError(t, err)
	m := &member{TB: t, id: "alone"}
	m.shard.Store(s)
	for range n {
		err := m.enqueue(make([]byte, 1000))
		require.NoError(t, err)
	}
	s.Close()
	require.NoError(t, store.Close())
}

// The nodes that join receive the tasks of the single server.
func TestAServerThatStoodAloneBecomesACluster(t *testing.T) {
	made := false
	g := newGroup(t, func(o *Options) {
		if o.Node != "n1" {
			o.Bootstrap = nil
			return
		}
		o.Bootstrap = o.Bootstrap[:1]
		if !made {
			made = true
			stoodAlone(t, o.Dir, 7)
		}
	})
	g.fill(5, "n1")
	for _, id := range []string{"n2", "n3"} {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		require.NoError(t, g.leader("n1").AddVoter(ctx, id, id+":1"))
		cancel()
		g.caughtUp(g.members[id], g.members["n1"])
	}
	g.same()
	audit, err := g.members["n3"].Store().Audit(1_000)
	require.NoError(t, err)
	require.Len(t, audit, 1)
	g.filled(7+5+1, audit[0].Stored)
	// The cluster keeps the tasks after a restart and without the node that had them first.
	for _, m := range g.members {
		g.stop(m)
	}
	for _, m := range g.members {
		g.start(m)
	}
	g.same()
	g.stop(g.members["n1"])
	g.fill(1, "n2", "n3")
}

// opened tries to open a replica with first members.
func opened(t *testing.T, dir string, first ...string) error {
	t.Helper()
	store, err := logs.Open(filepath.Join(dir, "raft"), logs.Options{Durability: storage.None})
	require.NoError(t, err)
	defer func() { assert.NoError(t, store.Close()) }()
	var members []raft.Server
	for _, id := range first {
		members = append(members, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id + ":1")})
	}
	r, err := Open(Options{
		Node: "n1", Dir: filepath.Join(dir, "store"), Snapshots: filepath.Join(dir, "snapshots"), Logs: store.Group(0), Bootstrap: members,
		Store: storage.Options{Durability: storage.None},
	})
	if err == nil {
		require.NoError(t, r.Close())
	}
	return err
}

func TestAStoreOfOneIsNoFirstMemberAmongSeveral(t *testing.T) {
	for name, first := range map[string][]string{"several": {"n1", "n2", "n3"}, "joins": nil, "another": {"n2"}} {
		dir := t.TempDir()
		stoodAlone(t, filepath.Join(dir, "store"), 1)
		require.ErrorContains(t, opened(t, dir, first...), "holds data without a Raft log", name)
		// The refused start did not change the store.
		store, err := storage.Open(filepath.Join(dir, "store"), storage.Options{Durability: storage.None})
		require.NoError(t, err)
		holds, err := store.Holds()
		require.NoError(t, err)
		assert.True(t, holds)
		require.NoError(t, store.Close())
	}
}

// A cluster starts from a copy of a replicated store without its Raft log.
func TestABackupBecomesACluster(t *testing.T) {
	g := newGroup(t, nil)
	g.fill(20)
	g.same()
	from := g.members["n2"]
	at := from.Store().Position()
	require.Greater(t, at.Index, uint64(1))
	for _, m := range g.members {
		g.stop(m)
	}
	copied := false
	again := newGroup(t, func(o *Options) {
		if o.Node != "n1" {
			o.Bootstrap = nil
			return
		}
		o.Bootstrap = o.Bootstrap[:1]
		if !copied {
			copied = true
			require.NoError(t, os.CopyFS(o.Dir, os.DirFS(filepath.Join(from.dir, "store"))))
		}
	})
	again.fill(5, "n1")
	assert.Greater(t, again.members["n1"].Store().Position().Term, at.Term, "no term is used twice")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, id := range []string{"n2", "n3"} {
		require.NoError(t, again.leader("n1").AddVoter(ctx, id, id+":1"))
		again.caughtUp(again.members[id], again.members["n1"])
	}
	again.same()
	audit, err := again.members["n2"].Store().Audit(1_000)
	require.NoError(t, err)
	require.Len(t, audit, 1)
	again.unknown += g.unknown
	again.filled(20+1+5+1, audit[0].Stored)
}

// The process dies between recording the first snapshot of a group and raising Raft's term.
func TestTheTermIsRaisedAfterACrash(t *testing.T) {
	dir := t.TempDir()
	store, err := logs.Open(filepath.Join(dir, "raft"), logs.Options{Durability: storage.None})
	require.NoError(t, err)
	snapshots, err := openSnapshots(filepath.Join(dir, "snapshots"), nil)
	require.NoError(t, err)
	require.NoError(t, snapshots.note(newRecord(raft.SnapshotVersionMax, 9, 4, raft.Configuration{}, 9)))
	r := &localStore{options: &Options{Logs: store.Group(0)}, snapshots: snapshots}
	for range 2 {
		require.NoError(t, r.raiseTerm())
		term, err := store.Group(0).GetUint64(termName)
		require.NoError(t, err)
		assert.EqualValues(t, 4, term)
	}
	require.NoError(t, store.Group(0).SetUint64(termName, 7))
	require.NoError(t, r.raiseTerm())
	term, err := store.Group(0).GetUint64(termName)
	require.NoError(t, err)
	assert.EqualValues(t, 7, term)
	require.NoError(t, store.Close())
}

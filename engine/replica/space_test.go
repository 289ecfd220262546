package replica

import (
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/quotafstest"
	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/disk"
)

// Leaders are stopped repeatedly. The reluctant member must not stand while another member can win.
func TestReluctantMembersLeaveElectionsToOthers(t *testing.T) {
	var reluctant atomic.Pointer[string]
	none := ""
	reluctant.Store(&none)
	g := newGroup(t, func(o *Options) {
		id := o.Node
		o.Reluctant = func() bool { return *reluctant.Load() == id }
	})
	for range 5 {
		stopped := g.leader()
		g.fill(1, stopped.id)
		others := g.others(stopped)
		for _, id := range others { // a member that lacks entries could not win
			g.caughtUp(g.members[id], stopped)
		}
		reluctant.Store(&others[0])
		g.stop(stopped)
		require.Equal(t, others[1], g.leader(others...).id)
		g.start(stopped)
	}
	g.same()
}

// All members are reluctant. The group must still elect a leader.
func TestReluctantMembersStandWhenNobodyElseDoes(t *testing.T) {
	var all atomic.Bool
	g := newGroup(t, func(o *Options) { o.Reluctant = all.Load })
	stopped := g.leader()
	g.fill(1, stopped.id)
	all.Store(true)
	g.stop(stopped)
	g.leader(g.others(stopped)...)
	g.start(stopped)
	g.same()
}

// A log whose end was just removed must accept the replacing entries even then, as Raft requires.
func TestAnExhaustedLogTakesNoChanges(t *testing.T) {
	fs := quotafstest.New(vfs.NewMem(), 1<<30)
	space := disk.WatchSpace(disk.SpaceOptions{FS: fs, Dir: ".", Low: disk.Mark{Set: true, Bytes: 400 << 20}, Critical: disk.Mark{Set: true, Bytes: 200 << 20}})
	defer space.Close()
	store, err := logs.Open("raft", logs.Options{FS: fs, Durability: storage.None})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	var leading atomic.Bool
	kept := uint64(2)
	l := &spaceLog{Logs: store.Group(0), space: space, leading: leading.Load, kept: func() uint64 { return kept }}
	require.True(t, l.IsMonotonic())
	change := func(index uint64) *raft.Log {
		return &raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: append(storage.Tenure{}.Begin(), "change"...)}
	}
	last := func() uint64 {
		n, err := l.LastIndex()
		require.NoError(t, err)
		return n
	}
	require.NoError(t, l.StoreLogs([]*raft.Log{change(1), change(2), change(3)}))
	fs.Pin(150 << 20)
	require.Eventually(t, func() bool { return space.Own() == disk.SpaceCritical }, patience, step)
	require.NoError(t, l.StoreLog(change(4)), "changes are stored until the disk is exhausted")
	fs.Pin(50 << 20)
	require.Eventually(t, func() bool { return space.Own() == disk.SpaceExhausted }, patience, step)
	require.ErrorContains(t, l.StoreLog(change(5)), "entry 5 is not stored: disk: ")
	require.EqualValues(t, 4, last())
	require.NoError(t, l.StoreLogs([]*raft.Log{
		{Index: 5, Term: 1, Type: raft.LogNoop}, {Index: 6, Term: 1, Type: raft.LogCommand, Data: storage.Tenure{}.Begin()}, {Index: 7, Term: 1, Type: raft.LogBarrier},
	}), "leaders are elected and confirmed")
	require.Error(t, l.StoreLog(change(8)))
	require.NoError(t, l.DeleteRange(1, 3), "the beginning is cut")
	first, err := l.FirstIndex()
	require.NoError(t, err)
	require.EqualValues(t, 3, first, "the store needs entry 3")
	require.Error(t, l.StoreLog(change(8)))
	require.NoError(t, l.DeleteRange(6, 7))
	require.NoError(t, l.StoreLog(change(6)))
	require.Error(t, l.StoreLog(change(7)), "once")
	leading.Store(true)
	require.NoError(t, l.StoreLog(change(7)), "a leader stores what it proposed")
}

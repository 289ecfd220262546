package logs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/storage"
)

func ofTheLog(kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") && slices.Contains(kinds, op.Kind) }
}

var (
	isLogSync  = ofTheLog(errorfs.OpFileSync, errorfs.OpFileSyncData)
	isLogWrite = ofTheLog(errorfs.OpFileWrite)
)

func isVoteSync(op errorfs.Op) bool {
	return strings.Contains(op.Path, votesPrefix) && op.Kind == errorfs.OpFileSyncData
}

func isVoteWrite(op errorfs.Op) bool {
	return strings.Contains(op.Path, votesPrefix) && op.Kind == errorfs.OpFileWriteAt
}

// A failed write or fsync ends the process. Neither the current call nor a later one is
// acknowledged, even if the disk recovers.
func TestAFailedDiskAcknowledgesNothing(t *testing.T) {
	appendOne := func(g *Group) error { return g.StoreLogs(entries(2, 2, 1, 10)) }
	vote := func(g *Group) error { return g.Set(candidate, []byte("n2")) }
	for name, c := range map[string]struct {
		durability storage.Durability
		which      func(errorfs.Op) bool
		do         func(*Group) error
		says       string
	}{
		"fsync of an append under sync":     {storage.Sync, isLogSync, appendOne, "fsync raft/"},
		"fsync of a truncation under sync":  {storage.Sync, isLogSync, func(g *Group) error { return g.DeleteRange(1, 1) }, "fsync raft/"},
		"write of an append under sync":     {storage.Sync, isLogWrite, appendOne, "write raft/"},
		"write of an append under interval": {storage.Interval, isLogWrite, appendOne, "write raft/"},
		"write of an append under none":     {storage.None, isLogWrite, appendOne, "write raft/"},
		"fsync of a vote after its term": {storage.None, isVoteSync, func(g *Group) error {
			if err := g.SetUint64(term, 2); err != nil {
				return fmt.Errorf("the term: %w", err)
			}
			return vote(g)
		}, "fsync raft/"},
		"fsync of a vote under sync":     {storage.Sync, isVoteSync, vote, "fsync raft/VOTE-0000"},
		"fsync of a vote under interval": {storage.Interval, isVoteSync, vote, "fsync raft/VOTE-0000"},
		"fsync of a vote under none":     {storage.None, isVoteSync, vote, "fsync raft/VOTE-0000"},
		"write of a vote under none":     {storage.None, isVoteWrite, vote, "write raft/VOTE-0000"},
		"requested fsync under none":     {storage.None, isLogSync, func(g *Group) error { return g.store.Persist() }, "fsync raft/"},
	} {
		t.Run(name, func(t *testing.T) {
			var fatal atomic.Pointer[string]
			toggle := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
				if c.which(op) {
					return fmt.Errorf("%s: %w", op.Path, errorfs.ErrInjected)
				}
				return nil
			})}
			s := open(t, errorfs.Wrap(vfs.NewMem(), toggle), Options{
				Durability: c.durability, Fatal: func(problem string) { fatal.CompareAndSwap(nil, &problem) },
			})
			g := s.Group(0)
			require.NoError(t, g.StoreLogs(entries(1, 1, 1, 10)))
			toggle.On()
			require.ErrorIs(t, c.do(g), errorfs.ErrInjected)
			require.NotNil(t, fatal.Load())
			assert.Contains(t, *fatal.Load(), c.says)
			requireBounds(t, g, 1, 1)
			toggle.Off()
			require.ErrorIs(t, appendOne(g), errorfs.ErrInjected)
			require.ErrorIs(t, vote(g), errorfs.ErrInjected)
			requireBounds(t, g, 1, 1)
			require.Error(t, s.Close())
		})
	}
}

// Open detects a flipped bit in the log of a closed store. Pebble would treat everything after it
// as never written.
func TestDamagedLogDoesNotOpen(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	require.NoError(t, s.Group(0).StoreLogs(entries(1, 20, 1, 1000)))
	closeStore(t, s)
	names, err := fs.List(dir)
	require.NoError(t, err)
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, ".log") })
	path := fs.PathJoin(dir, names[i])
	f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{0x55}, 10_000)
	require.NoError(t, errors.Join(err, f.Close()))
	_, err = Open(dir, Options{FS: fs, Durability: storage.Sync})
	require.ErrorContains(t, err, names[i])
	require.ErrorContains(t, err, "have it join again")
}

// gateFS blocks fsyncs of the log while it is closed.
type gateFS struct {
	mu     sync.Mutex
	closed chan struct{} // nil: open
	held   chan struct{}
}

func (g *gateFS) maybe(op errorfs.Op) error {
	if !isLogSync(op) {
		return nil
	}
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed != nil {
		g.held <- struct{}{}
		<-closed
	}
	return nil
}

// One fsync covers everything that groups append during the previous fsync, however many groups
// there are.
func TestGroupsShareAnFsync(t *testing.T) {
	const groups = 8
	gate := &gateFS{held: make(chan struct{}, groups+1)}
	s := open(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(gate.maybe)), Options{})
	defer closeStore(t, s)
	require.NoError(t, s.Group(0).StoreLogs(entries(1, 1, 1, 10)))
	before := s.Counters().Syncs
	closed := make(chan struct{})
	gate.mu.Lock()
	gate.closed = closed
	gate.mu.Unlock()
	var wg sync.WaitGroup
	store := func(n uint16, index uint64) {
		wg.Go(func() { assert.NoError(t, s.Group(n).StoreLogs(entries(index, index, 1, 10))) })
	}
	store(0, 2)
	<-gate.held // its fsync is in progress
	for n := uint16(1); n < groups; n++ {
		store(n, 1)
	}
	for n := uint16(1); n < groups; n++ { // wait until Pebble has all appends
		require.Eventually(t, func() bool {
			_, found, err := s.get(entryKey(n, 1))
			return err == nil && found
		}, waitMost, waitStep)
	}
	requireBounds(t, s.Group(1), 0, 0) // Raft must not see entries that are not stored yet
	gate.mu.Lock()
	gate.closed = nil
	gate.mu.Unlock()
	close(closed)
	wg.Wait()
	require.LessOrEqual(t, s.Counters().Syncs-before, uint64(3), "fsyncs of %d appends", groups)
}

package logs

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/storage"
)

// requireVote checks a group's term and vote.
func requireVote(t *testing.T, g *Group, wantTerm uint64, wantCandidate string) {
	t.Helper()
	n, err := g.GetUint64(term)
	require.NoError(t, err)
	who, err := g.Get(candidate)
	require.NoError(t, err)
	require.Equal(t, wantTerm, n)
	require.Equal(t, wantCandidate, string(who))
}

func vote(t *testing.T, g *Group, inTerm uint64, who string) {
	t.Helper()
	require.NoError(t, g.SetUint64(term, inTerm))
	require.NoError(t, g.Set(candidate, []byte(who)))
}

// overwrite writes to a file, simulating damage or an interrupted write.
func overwrite(t *testing.T, fs vfs.FS, name string, b []byte, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.WriteAt(b, at)
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
}

// A vote does not wait for a blocked fsync of the log.
func TestAVoteDoesNotWaitForTheLog(t *testing.T) {
	for _, d := range modes {
		t.Run(string(d), func(t *testing.T) {
			gate := &gateFS{held: make(chan struct{}, 8)}
			s := open(t, errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(gate.maybe)), Options{Durability: d})
			defer closeStore(t, s)
			g := s.Group(0)
			vote(t, g, 1, "n1")
			closed := make(chan struct{})
			gate.mu.Lock()
			gate.closed = closed
			gate.mu.Unlock()
			stored := make(chan error, 1)
			go func() {
				err := g.StoreLogs(entries(1, 1, 1, 10))
				if d != storage.Sync {
					err = errors.Join(err, s.Persist())
				}
				stored <- err
			}()
			<-gate.held
			vote(t, g, 2, "n2")
			requireVote(t, g, 2, "n2")
			gate.mu.Lock()
			gate.closed = nil
			gate.mu.Unlock()
			close(closed)
			require.NoError(t, <-stored)
		})
	}
}

// A power loss may remove all of Pebble's log. The votes are then read from the vote files, and
// later changes continue from them.
func TestVotesOutliveTheLog(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Options{Durability: storage.None})
	for n := range uint64(3) {
		vote(t, s.Group(0), n+1, "n1")
		vote(t, s.Group(7), n+5, "n2")
	}
	for n := range uint64(3) {
		crashed := disk.CrashClone(vfs.CrashCloneCfg{})
		closeStore(t, s)
		disk = crashed
		s = open(t, disk, Options{Durability: storage.None})
		requireVote(t, s.Group(0), 3+n, "n1")
		requireVote(t, s.Group(7), 7, "n2")
		vote(t, s.Group(0), 4+n, "n1")
	}
	closeStore(t, s)
}

// A crash that interrupts the write of a vote, in either place, preserves the previous vote: the
// new one was not given yet.
func TestAVoteThatWasCutOffIsNone(t *testing.T) {
	for name, percent := range map[string]int{"Pebble has the vote before": 100, "only the file has it": 0} {
		t.Run(name, func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			s := open(t, disk, Options{Durability: storage.None})
			vote(t, s.Group(0), 1, "n1")
			vote(t, s.Group(0), 2, "n2")
			next := s.Group(0).votes.next
			crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(1, 1))})
			closeStore(t, s)
			overwrite(t, crashed, votesName(0), []byte("cut off"), int64(next*placeBytes))
			again := open(t, crashed, Options{Durability: storage.None})
			defer closeStore(t, again)
			requireVote(t, again.Group(0), 2, "n2")
			require.Equal(t, next, again.Group(0).votes.next, "the next vote replaces what was cut off")
		})
	}
}

// A crash may also interrupt the creation of the vote file.
func TestAnUnfinishedFileOfVotesIsMadeAgain(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Options{Durability: storage.None})
	require.NoError(t, s.Group(0).StoreLogs(entries(1, 1, 1, 10)))
	require.NoError(t, s.Persist())
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)
	overwrite(t, crashed, votesName(0), make([]byte, 100), 0)
	s = open(t, crashed, Options{Durability: storage.None})
	vote(t, s.Group(0), 1, "n1")
	crashed = crashed.CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)
	s = open(t, crashed, Options{Durability: storage.None})
	defer closeStore(t, s)
	requireVote(t, s.Group(0), 1, "n1")
}

// A store of an older server has votes only in Pebble. If an older server used the store in
// between, Pebble has the later votes.
func TestVotesOfOlderServersHold(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, Options{})
	vote(t, s.Group(0), 1, "n1")
	// As an older server writes it.
	for _, v := range []stableValue{{kindNumber, term, number(5)}, {kindText, candidate, text([]byte("n3"))}} {
		b := s.db.NewBatch()
		require.NoError(t, b.Set(stableKey(0, v.kind, v.name), v.record, nil))
		require.NoError(t, s.commit(b))
	}
	closeStore(t, s)
	s = open(t, fs, Options{})
	g := s.Group(0)
	requireVote(t, g, 5, "n3")
	vote(t, g, 6, "n1")
	closeStore(t, s)
	s = open(t, fs, Options{})
	defer closeStore(t, s)
	requireVote(t, s.Group(0), 6, "n1")
}

// Votes written by a newer server and values that are too large are refused.
func TestForeignVotesAreRefused(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Options{Durability: storage.None})
	g := s.Group(0)
	vote(t, g, 1, "n1")
	require.ErrorContains(t, g.Set(candidate, make([]byte, placeBytes)), "expected at most 4096")
	crashed := disk.CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)
	place := encodePlace(9, nil)
	place[0] = format + 1
	overwrite(t, crashed, votesName(0), sealPlace(place), 0)
	_, err := Open(dir, Options{FS: crashed, Durability: storage.None})
	require.ErrorContains(t, err, votesName(0))
	require.ErrorContains(t, err, "newer")
}

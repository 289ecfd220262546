package logs

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/storage"
)

// state is the content of a store as far as the crash tests compare it.
type state [2]groupState

type groupState struct {
	first, last uint64
	terms       []uint64 // of the entries from first to last
	term        uint64
	candidate   string
}

func (s state) clone() state {
	for i := range s {
		s[i].terms = slices.Clone(s[i].terms)
	}
	return s
}

// stateOf reads the whole content of a store. Every entry within the bounds must exist and match
// its index and term.
func stateOf(t require.TestingT, s *Store) (out state) {
	for n := range out {
		g, is := s.Group(uint16(n)), &out[n]
		b := g.bounds.Load()
		is.first, is.last = b.first, b.last
		for i := b.first; i <= b.last && i > 0; i++ {
			var l raft.Log
			require.NoError(t, g.GetLog(i, &l), "entry %d of %d to %d", i, b.first, b.last)
			require.Equal(t, *entries(i, i, l.Term, len(l.Data))[0], l)
			is.terms = append(is.terms, l.Term)
		}
		var err error
		if is.term, err = g.GetUint64(term); err != nil {
			require.ErrorIs(t, err, ErrNotFound)
		}
		who, err := g.Get(candidate)
		if err != nil {
			require.ErrorIs(t, err, ErrNotFound)
		}
		is.candidate = string(who)
	}
	return out
}

// change makes one call on a store and on its model. It returns the modes in which the call
// survives a power loss, and the group whose vote it stores, which survives independently of the
// other groups.
func change(t *rapid.T, s *Store, m *state) (durable []storage.Durability, voted int) {
	n := rapid.IntRange(0, len(m)-1).Draw(t, "group")
	g, is := s.Group(uint16(n)), &m[n]
	durable, voted = []storage.Durability{storage.Sync}, -1
	switch what := rapid.SampledFrom([]string{"append", "append", "append", "truncate", "conflict", "term", "vote", "skip"}).Draw(t, "what"); {
	case what == "append" || what == "skip" || is.last == 0:
		first, count := is.last+1, rapid.Uint64Range(1, 6).Draw(t, "entries")
		if what == "skip" && is.last > 0 { // a snapshot was installed that is beyond the log
			first += 3
			is.first, is.terms = 0, nil
		}
		require.NoError(t, g.StoreLogs(entries(first, first+count-1, is.term+1, rapid.SampledFrom([]int{30, 3_000, 30_000}).Draw(t, "bytes"))))
		if is.first == 0 {
			is.first = first
		}
		is.last = first + count - 1
		for range count {
			is.terms = append(is.terms, is.term+1)
		}
	case what == "truncate":
		to := rapid.Uint64Range(is.first, is.last).Draw(t, "to")
		require.NoError(t, g.DeleteRange(is.first, to))
		is.terms = is.terms[to-is.first+1:]
		if is.first = to + 1; is.first > is.last {
			is.first, is.last, is.terms = 0, 0, nil
		}
	case what == "conflict":
		from := rapid.Uint64Range(is.first, is.last).Draw(t, "from")
		require.NoError(t, g.DeleteRange(from, is.last))
		is.terms = is.terms[:from-is.first]
		if is.last = from - 1; is.last < is.first {
			is.first, is.last, is.terms = 0, 0, nil
		}
	case what == "term":
		is.term++
		require.NoError(t, g.SetUint64(term, is.term))
		return nil, -1
	default:
		is.candidate = rapid.StringMatching("n[1-5]").Draw(t, "candidate")
		require.NoError(t, g.Set(candidate, []byte(is.candidate)))
		return nil, n
	}
	return durable, voted
}

// moment is a copy of a disk, and the states that it may contain.
type moment struct {
	disk  vfs.FS
	from  int               // the logs must be those of this state or of a later one
	votes [len(state{})]int // the same for each group's term and vote
	to    int
}

// holds reports whether the disk of a moment may contain got: the logs of one allowed state, and
// each group's term and vote of that state or a later one.
func (m *moment) holds(states []state, got state) bool {
	for i := m.from; i <= m.to && i < len(states); i++ {
		if logs := states[i]; !slices.EqualFunc(logs[:], got[:], sameLog) {
			continue
		}
		all := true
		for n := range got {
			from := max(i, m.votes[n])
			all = all && slices.ContainsFunc(states[from:min(m.to, len(states)-1)+1], func(s state) bool { return s[n].term == got[n].term && s[n].candidate == got[n].candidate })
		}
		if all {
			return true
		}
	}
	return false
}

func sameLog(a, b groupState) bool {
	return a.first == b.first && a.last == b.last && slices.Equal(a.terms, b.terms)
}

// moments takes copies of a disk during writes.
type moments struct {
	mu     sync.Mutex
	disk   *vfs.MemFS
	rng    *rand.Rand
	every  int // the number of writes per copy
	writes int
	may    moment
	taken  []moment
}

func (m *moments) maybe(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes++; m.writes%m.every == 0 && len(m.taken) < 5 {
		m.take()
	}
	return nil
}

// take simulates a power loss: only a part of the unsynced data is on the copy.
func (m *moments) take() {
	percent := []int{0, 30, 70, 100}[m.rng.IntN(4)]
	one := m.may
	one.disk = m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: m.rng})
	m.taken = append(m.taken, one)
}

// allow sets the states that a disk may contain from now on.
func (m *moments) allow(what moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.may = what
}

// A power loss may occur at any time. Under sync, everything acknowledged must survive, except that
// a term survives only with what was stored after it. In the other modes, each group's last vote
// and its term must survive. Beyond that, a prefix of the operations may survive: no entry survives
// without the entries and terms before it.
func TestPowerLossLeavesABeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(modes).Draw(t, "durability")
		m := &moments{
			disk: vfs.NewCrashableMem(), every: rapid.IntRange(1, 40).Draw(t, "every"),
			rng: rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))),
		}
		s := open(t, errorfs.Wrap(m.disk, errorfs.InjectorFunc(m.maybe)), Options{Durability: d, MemTableBytes: 256 << 10})
		states := []state{{}}
		var kept moment // the states that must survive every power loss
		for range rapid.IntRange(1, 25).Draw(t, "calls") {
			kept.to = len(states)
			m.allow(kept)
			next := states[len(states)-1].clone()
			durable, voted := change(t, s, &next)
			states = append(states, next)
			if slices.Contains(durable, d) {
				kept.from = len(states) - 1
			}
			if voted >= 0 {
				kept.votes[voted] = len(states) - 1
			}
			m.allow(kept)
		}
		m.mu.Lock()
		m.take()
		taken := m.taken
		m.mu.Unlock()
		closeStore(t, s)
		for _, one := range taken {
			again := open(t, one.disk, Options{Durability: d})
			got := stateOf(t, again)
			closeStore(t, again)
			require.True(t, one.holds(states, got), "%+v is not one of the states %d to %d with votes from %v: %+v", got, one.from, one.to, one.votes, states)
		}
	})
}

// crashableMem is an in-memory file system that can simulate a power loss at any time. It replaces
// MemFS.ReuseForWrite, which read-locks a mutex twice: a CrashClone that starts between the two
// locks deadlocks with the writer.
type crashableMem struct{ *vfs.MemFS }

func (m crashableMem) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := m.Rename(oldname, newname); err != nil {
		return nil, err
	}
	return m.OpenReadWrite(newname, category)
}

// Several groups append concurrently: each must keep what was acknowledged to it, and a prefix of
// the rest.
func TestPowerLossWithGroupsAtOnce(t *testing.T) {
	disk := crashableMem{vfs.NewCrashableMem()}
	s := open(t, disk, Options{MemTableBytes: 256 << 10})
	var mu sync.Mutex
	var acked [4]uint64
	var wg sync.WaitGroup
	type cut struct {
		disk  vfs.FS
		acked [4]uint64
	}
	var cuts []cut
	for n := range acked {
		wg.Go(func() {
			for i := uint64(1); i < 200; i += 2 {
				if !assert.NoError(t, s.Group(uint16(n)).StoreLogs(entries(i, i+1, i, 2_000))) {
					return
				}
				mu.Lock()
				acked[n] = i + 1
				if i%40 == 1 {
					cuts = append(cuts, cut{disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(i, uint64(n)))}), acked})
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	closeStore(t, s)
	require.Len(t, cuts, 20)
	for _, c := range cuts {
		s := open(t, c.disk, Options{})
		for n, acked := range c.acked {
			g := s.Group(uint16(n))
			last, err := g.LastIndex()
			require.NoError(t, err)
			require.GreaterOrEqual(t, last, acked)
			for i := uint64(1); i <= last; i++ {
				require.NoError(t, g.GetLog(i, new(raft.Log)))
			}
		}
		closeStore(t, s)
	}
}

// The mode determines what an append waits for. In all modes, a vote and the term before it are
// durable, and a vote does not wait for entries.
func TestWhatALossOfPowerLeaves(t *testing.T) {
	for _, d := range modes {
		t.Run(string(d), func(t *testing.T) {
			disk := vfs.NewCrashableMem()
			s := open(t, disk, Options{Durability: d})
			defer closeStore(t, s)
			lastAfter := func(crashed vfs.FS) (last, n uint64) {
				s := open(t, crashed, Options{})
				defer closeStore(t, s)
				last, err := s.Group(0).LastIndex()
				require.NoError(t, err)
				n, err = s.Group(0).GetUint64(term)
				require.True(t, err == nil || err.Error() == "not found")
				return last, n
			}
			power := func() vfs.FS { return disk.CrashClone(vfs.CrashCloneCfg{}) }
			g := s.Group(0)
			require.NoError(t, g.StoreLogs(entries(1, 2, 1, 10)))
			last, _ := lastAfter(power())
			require.Equal(t, d == storage.Sync, last == 2)
			kept, _ := lastAfter(disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}))
			require.Equal(t, uint64(2), kept, "a kill of the process loses no entry")
			for n := range uint64(3) {
				syncs := s.Counters().Syncs
				require.NoError(t, g.SetUint64(term, n+1))
				require.Equal(t, syncs, s.Counters().Syncs, "a term alone waits for no fsync")
				require.NoError(t, g.Set(candidate, []byte("n1")))
				require.Equal(t, syncs, s.Counters().Syncs, "a vote does not wait for an fsync of the log")
				last, got := lastAfter(power())
				require.Equal(t, n+1, got)
				require.Equal(t, d == storage.Sync, last == 2)
			}
			require.NoError(t, g.StoreLogs(entries(3, 3, 1, 10)))
			require.NoError(t, s.Persist())
			last, _ = lastAfter(power())
			require.Equal(t, uint64(3), last)
		})
	}
}

func TestIntervalReachesTheDiskUnasked(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk, Options{Durability: storage.Interval, SyncInterval: time.Millisecond})
	defer closeStore(t, s)
	require.NoError(t, s.Group(0).StoreLogs(entries(1, 2, 1, 10)))
	require.Eventually(t, func() bool {
		s := open(t, disk.CrashClone(vfs.CrashCloneCfg{}), Options{})
		defer closeStore(t, s)
		last, err := s.Group(0).LastIndex()
		return err == nil && last == 2
	}, 20*time.Second, 2*time.Millisecond)
}

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

// state is what a store holds, as far as the tests of crashes tell it apart.
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

// stateOf reads all that a store holds. Each entry between the bounds is there and is the one of its index and term.
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

// change is one call, on a store and on the model of it. It returns in which modes the call survives a loss of power, and whether it is a
// vote, with which no other group survives.
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

// moment is a disk at a moment, and which of the states it may hold.
type moment struct {
	disk  vfs.FS
	from  int               // the logs are those of this state or of a later one
	votes [len(state{})]int // the same of each group's term and vote
	to    int
}

// holds reports whether a moment may have left what was found: the logs of one state, and each group's term and vote of that state or of a
// later one.
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

// moments takes copies of a disk while it is written to.
type moments struct {
	mu     sync.Mutex
	disk   *vfs.MemFS
	rng    *rand.Rand
	every  int // how many writes there are for one moment
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

// take has the power go: of what no fsync covers, some is on the disk.
func (m *moments) take() {
	percent := []int{0, 30, 70, 100}[m.rng.IntN(4)]
	one := m.may
	one.disk = m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: m.rng})
	m.taken = append(m.taken, one)
}

// allow says what a disk may hold from now on.
func (m *moments) allow(what moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.may = what
}

// The power may go at any moment. Under sync, all is there that was acknowledged, but a term only with what follows it; in the other modes
// each group's last vote and term. What is there beyond is a beginning of what was done: of the entries no call took effect without those
// before it, and no entry without the terms before it.
func TestPowerLossLeavesABeginning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(modes).Draw(t, "durability")
		m := &moments{
			disk: vfs.NewCrashableMem(), every: rapid.IntRange(1, 40).Draw(t, "every"),
			rng: rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed"))),
		}
		s := open(t, errorfs.Wrap(m.disk, errorfs.InjectorFunc(m.maybe)), Options{Durability: d, MemTableBytes: 256 << 10})
		states := []state{{}}
		var kept moment // the states that no loss of power goes behind
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
			require.True(t, one.holds(states, got), "%+v is not of the states %d to %d, with votes from %v on: %+v", got, one.from, one.to, one.votes, states)
		}
	})
}

// crashableMem is a file system in memory whose power may be cut at any moment. The ReuseForWrite of Pebble's takes a lock for reading twice, and
// a CrashClone that begins between the two waits for ever, as does the writer.
type crashableMem struct{ *vfs.MemFS }

func (m crashableMem) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := m.Rename(oldname, newname); err != nil {
		return nil, err
	}
	return m.OpenReadWrite(newname, category)
}

// The same with appends of several groups at once: each has what was acknowledged to it, and a beginning of the rest.
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

// The modes say what an append waits for. A vote is on the disk in all of them, and the term that was stored before it. It waits for no entry.
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
			require.Equal(t, uint64(2), kept, "a kill of the process loses nothing")
			for n := range uint64(3) {
				syncs := s.Counters().Syncs
				require.NoError(t, g.SetUint64(term, n+1))
				require.Equal(t, syncs, s.Counters().Syncs, "a term alone waits for no fsync")
				require.NoError(t, g.Set(candidate, []byte("n1")))
				require.Equal(t, syncs, s.Counters().Syncs, "nor does a vote wait for one of the log")
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

package logs

import (
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelGroups are groups with adjacent keys.
var modelGroups = []uint16{0, 1, 256}

// requireSame checks that a group and the model return the same answers.
func requireSame(t require.TestingT, want *raft.InmemStore, got *Group) {
	first, err := want.FirstIndex()
	require.NoError(t, err)
	last, err := want.LastIndex()
	require.NoError(t, err)
	requireBounds(t, got, first, last)
	for i := max(first, 3) - 3; i <= last+3; i++ {
		var a, b raft.Log
		wantErr, gotErr := want.GetLog(i, &a), got.GetLog(i, &b)
		require.Equal(t, wantErr, gotErr, "index %d", i)
		require.Equal(t, a, b)
	}
	for _, name := range [][]byte{term, candidate} {
		a, wantErr := want.Get(name)
		b, gotErr := got.Get(name)
		require.Equal(t, wantErr == nil, gotErr == nil)
		require.Equal(t, string(a), string(b))
		if wantErr != nil {
			require.EqualError(t, gotErr, wantErr.Error())
		}
		n, err := want.GetUint64(name)
		require.NoError(t, err)
		if m, err := got.GetUint64(name); err != nil {
			require.EqualError(t, err, "not found")
			require.Zero(t, n)
		} else {
			require.Equal(t, n, m)
		}
	}
}

// The logs and stable stores behave like Raft's in-memory store under any sequence of operations,
// also after closing and reopening, and after memtables become tables.
func TestLogsAreAsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewMem()
		o := Options{Durability: rapid.SampledFrom(modes).Draw(t, "durability"), MemTableBytes: 256 << 10}
		s := open(t, fs, o)
		defer func() { closeStore(t, s) }()
		want := map[uint16]*raft.InmemStore{}
		for _, n := range modelGroups {
			want[n] = raft.NewInmemStore()
		}
		group := func(t *rapid.T) (*raft.InmemStore, *Group, uint64, uint64) {
			n := rapid.SampledFrom(modelGroups).Draw(t, "group")
			first, err := want[n].FirstIndex()
			require.NoError(t, err)
			last, err := want[n].LastIndex()
			require.NoError(t, err)
			return want[n], s.Group(n), first, last
		}
		remove := func(t *rapid.T, w *raft.InmemStore, g *Group, from, to uint64) {
			require.NoError(t, w.DeleteRange(from, to))
			require.NoError(t, g.DeleteRange(from, to))
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				w, g, _, last := group(t)
				if last == 0 {
					last = rapid.Uint64Range(0, 300).Draw(t, "before the first")
				}
				add := entries(last+1, last+rapid.Uint64Range(1, 10).Draw(t, "entries"), rapid.Uint64Range(1, 9).Draw(t, "term"), rapid.SampledFrom([]int{30, 2_000, 20_000}).Draw(t, "bytes"))
				require.NoError(t, w.StoreLogs(add))
				require.NoError(t, g.StoreLogs(add))
			},
			"delete the beginning": func(t *rapid.T) {
				w, g, first, last := group(t)
				if last > 0 {
					remove(t, w, g, first, rapid.Uint64Range(first, last).Draw(t, "to"))
				}
			},
			"delete the end": func(t *rapid.T) {
				w, g, first, last := group(t)
				if last > 0 {
					remove(t, w, g, rapid.Uint64Range(first, last).Draw(t, "from"), last)
				}
			},
			"vote": func(t *rapid.T) {
				w, g, _, _ := group(t)
				n, who := rapid.Uint64().Draw(t, "term"), rapid.SliceOfN(rapid.Byte(), 1, 5).Draw(t, "candidate")
				require.NoError(t, w.SetUint64(term, n))
				require.NoError(t, g.SetUint64(term, n))
				require.NoError(t, w.Set(candidate, who))
				require.NoError(t, g.Set(candidate, who))
			},
			"flush":  func(t *rapid.T) { require.NoError(t, s.db.Flush()) },
			"reopen": func(t *rapid.T) { closeStore(t, s); s = open(t, fs, o) },
			"": func(t *rapid.T) {
				for _, n := range slices.Sorted(maps.Keys(want)) {
					requireSame(t, want[n], s.Group(n))
				}
			},
		})
	})
}

package young

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type entry struct {
	number uint64
	value  string
}

type model struct {
	all     map[Key]entry
	logged  map[Key]entry
	retired map[Key]string
}

func (m *model) replay(t require.TestingT, encoded []byte) {
	require.NoError(t, Decode(slices.Clone(encoded), Visitor{
		Put:  func(number uint64, k Key, value []byte) { m.logged[k] = entry{number, string(value)} },
		Drop: func(k Key) { delete(m.logged, k) },
	}))
}

func TestRecordsKeepWhatIsNeitherDroppedNorRetired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(7)
		m := model{map[Key]entry{}, map[Key]entry{}, map[Key]string{}}
		var puts Puts
		next := uint64(1)
		t.Repeat(map[string]func(*rapid.T){
			"commit": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "puts") {
					k := Key{Prefix: 't', Queue: rapid.Uint32Range(0, 2).Draw(t, "queue"), Priority: uint8(rapid.IntRange(0, 1).Draw(t, "priority")), Seq: next}
					next += rapid.Uint64Range(1, 3).Draw(t, "gap")
					value := fmt.Sprint("value ", k)
					puts.Add(k, []byte(value))
					m.all[k] = entry{r.Number() + 1, value}
				}
				require.True(t, r.Fits(&puts))
				m.replay(t, r.Add(&puts))
				puts.Reset()
			},
			"drop": func(t *rapid.T) {
				var drops Drops
				for range rapid.IntRange(1, 60).Draw(t, "drops") {
					k := Key{Prefix: 't', Queue: rapid.Uint32Range(0, 2).Draw(t, "queue"), Priority: uint8(rapid.IntRange(0, 1).Draw(t, "priority")), Seq: rapid.Uint64Range(0, next).Draw(t, "seq")}
					_, is := m.all[k]
					require.Equal(t, is, r.Drop(k))
					if is {
						drops.Add(k)
						delete(m.all, k)
					}
				}
				if encoded := drops.Encoded(); encoded != nil {
					m.replay(t, encoded)
				}
			},
			"retire": func(t *rapid.T) {
				upTo := rapid.Uint64Range(r.Floor(), r.Number()).Draw(t, "up to")
				r.Retire(upTo, int64(rapid.IntRange(1, 4000).Draw(t, "bytes")), func(k Key, value []byte) {
					require.LessOrEqual(t, m.all[k].number, upTo)
					require.Equal(t, m.all[k].value, string(value))
					delete(m.all, k)
					delete(m.logged, k)
				})
			},
			"trim": func(*rapid.T) { r.Trim('t') },
			"": func(t *rapid.T) {
				require.Equal(t, len(m.all), r.Len())
				require.Equal(t, m.all, m.logged)
				floor := r.Number()
				for k, e := range m.all {
					floor = min(floor, e.number-1)
					value, found := r.Get(k)
					require.True(t, found)
					require.Equal(t, e.value, string(value))
				}
				require.Equal(t, floor, r.Floor())
				edge := func(name string) Key {
					k := Key{Queue: rapid.Uint32Range(0, 3).Draw(t, name+" queue"), Priority: uint8(rapid.IntRange(0, 2).Draw(t, name+" priority")), Seq: rapid.Uint64Range(0, next).Draw(t, name+" seq")}
					k.Prefix = rapid.SampledFrom([]byte{0, 't', 'u'}).Draw(t, name+" prefix")
					return k
				}
				from, before := edge("from"), edge("before")
				var want []Record
				for k, e := range m.all {
					if k.Compare(from) >= 0 && k.Compare(before) < 0 {
						want = append(want, Record{k, []byte(e.value)})
					}
				}
				slices.SortFunc(want, func(a, b Record) int { return a.Key.Compare(b.Key) })
				require.Equal(t, want, r.Range(from, before))
				require.Equal(t, len(m.all) == 0, r.Bytes() == 0)
			},
		})
	})
}

func TestKeysOfARunAscend(t *testing.T) {
	r := New(0)
	var puts Puts
	puts.Add(Key{Prefix: 'l', Seq: 5}, nil)
	require.True(t, r.Fits(&puts))
	r.Add(&puts)
	assert.False(t, r.Fits(&puts), "the same key twice")
	puts.Reset()
	puts.Add(Key{Prefix: 'l', Seq: 7}, nil)
	puts.Add(Key{Prefix: 'l', Seq: 6}, nil)
	assert.False(t, r.Fits(&puts))
	puts.Reset()
	puts.Add(Key{Prefix: 'l', Seq: 7}, nil)
	puts.Add(Key{Prefix: 't', Seq: 1}, nil)
	puts.Add(Key{Prefix: 'l', Seq: 6}, nil)
	assert.False(t, r.Fits(&puts), "with another run in between")
	puts.Reset()
	r.Trim('t')
	puts.Add(Key{Prefix: 'l', Seq: 9}, nil)
	assert.True(t, r.Fits(&puts))
}

func FuzzDecode(f *testing.F) {
	var puts Puts
	puts.Add(Key{Prefix: 't', Queue: 3, Priority: 1, Seq: 9}, []byte("value"))
	puts.Add(Key{Prefix: 't', Queue: 3, Priority: 1, Seq: 10}, nil)
	f.Add(New(0).Add(&puts))
	var drops Drops
	drops.Add(Key{Prefix: 'l', Seq: 1 << 60})
	f.Add(drops.Encoded())
	f.Add([]byte{format, kindPuts, 0, 0, 0, 0, 0, 0, 0, 1, newRun, 't'})
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = Decode(b, Visitor{Put: func(uint64, Key, []byte) {}, Drop: func(Key) {}})
	})
}

func TestANewerFormatIsRefused(t *testing.T) {
	assert.ErrorContains(t, Decode([]byte{format + 1, kindDrops}, Visitor{}), "use a newer one")
	assert.ErrorContains(t, Decode([]byte{format, 9}, Visitor{}), "kind 9 is unknown")
	assert.ErrorContains(t, Decode([]byte{format}, Visitor{}), "cut off")
}

// One remaining record must not retain the parts of all later commits.
func TestPartsWithoutARecordAreRemoved(t *testing.T) {
	r := New(0)
	put := func(seq uint64) {
		var puts Puts
		puts.Add(Key{Prefix: 't', Seq: seq}, []byte("value"))
		r.Add(&puts)
	}
	put(1)
	for seq := uint64(2); seq < 20*endedPartsMax; seq++ {
		put(seq)
		require.True(t, r.Drop(Key{Prefix: 't', Seq: seq}))
		require.LessOrEqual(t, len(r.parts), 2*endedPartsMax)
		require.Zero(t, r.Floor())
	}
	value, found := r.Get(Key{Prefix: 't', Seq: 1})
	require.True(t, found)
	require.Equal(t, "value", string(value))
	require.True(t, r.Drop(Key{Prefix: 't', Seq: 1}))
	require.Equal(t, r.Number(), r.Floor())
	require.Empty(t, r.parts)
}

// Records may be in a buffer of the caller. Each also visits records that are not held.
func TestRecordsLieInBuffersOfTheCaller(t *testing.T) {
	key := func(seq uint64) Key { return Key{Prefix: 't', Queue: 1, Seq: seq} }
	// Each byte is a record and its seq.
	r := NewIn(0, func(buf []byte, visit func(k Key, at, n int)) error {
		for at, seq := range buf {
			visit(key(uint64(seq)), at, 1)
		}
		return nil
	})
	r.Begin(3, []byte{5, 6, 9, 8})
	require.True(t, r.Put(key(5), 0, 1))
	require.True(t, r.Drop(key(5)))
	require.Zero(t, r.Bytes())
	require.False(t, r.Put(key(5), 0, 1), "a key can be put only once")
	require.True(t, r.Put(key(6), 1, 1), "after all records of the commit ended")
	r.Pass(key(8))
	require.False(t, r.Put(key(8), 3, 1), "the record is stored elsewhere")
	require.True(t, r.Put(key(9), 2, 1))
	require.EqualValues(t, 4, r.Bytes(), "a buffer counts once")
	r.Begin(7, []byte{11})
	require.True(t, r.Put(key(11), 0, 1))
	require.EqualValues(t, 2, r.Floor())
	value, found := r.Get(key(9))
	require.True(t, found)
	require.Equal(t, []byte{9}, value)
	var stored []uint64
	store := func(k Key, value []byte) {
		require.Equal(t, []byte{byte(k.Seq)}, value)
		stored = append(stored, k.Seq)
	}
	r.Retire(6, 100, store)
	require.Equal(t, []uint64{6, 9}, stored)
	require.EqualValues(t, 6, r.Floor())
	r.Retire(7, 100, store)
	require.Equal(t, []uint64{6, 9, 11}, stored)
	require.Zero(t, r.Len())
	require.EqualValues(t, 7, r.Floor())
}

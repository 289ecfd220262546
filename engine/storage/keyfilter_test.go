package storage

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// putKeys commits n keys whose numbers begin at from.
func putKeys(t testing.TB, b *Batch, bucket int64, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		b.PutKey(1, keyNumber(i), bucket, queue.KeyRef{Ref: queue.Ref{Seq: uint64(i)}, ExpiresAtMs: bucket})
	}
	c, err := b.Submit()
	require.NoError(t, err)
	require.NoError(t, c.Wait())
}

func keyNumber(i int) string { return fmt.Sprintf("producer-4711-%012d", i) }

// lookUp looks up n keys whose numbers begin at from. It returns the number of keys found and the
// number of reads of the store.
func lookUp(t *testing.T, b *Batch, from, n int, buckets ...int64) (found int, gets uint64) {
	t.Helper()
	before := b.store.Counters().Gets
	for i := from; i < from+n; i++ {
		if k, ok := b.FindKey(1, keyNumber(i), buckets); ok {
			require.Equal(t, uint64(i), k.Ref.Seq)
			found++
		}
	}
	return found, b.store.Counters().Gets - before
}

// Keys are added and buckets dropped, under a bound that is large enough and under one that is not.
func TestFilterHidesNoKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(sectionsMin*sectionBytes(sectionKeysMin), 10*sectionBytes(sectionKeysMin)).Draw(t, "bytes")
		f := newKeyFilter(NewKeyFilters(bytes))
		require.NotNil(t, f)
		live := map[int64]int{} // number of keys in each bucket
		name := func(bucket int64, i int) []byte {
			return binary.BigEndian.AppendUint64([]byte{byte(bucket)}, uint64(i))
		}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			bucket := rapid.Int64Range(1, 6).Draw(t, "bucket")
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				f.drop(bucket)
				for at := range live {
					if at <= bucket {
						delete(live, at)
					}
				}
			default:
				for range rapid.IntRange(1, 20_000).Draw(t, "keys") {
					f.add(name(bucket, live[bucket]), bucket)
					live[bucket]++
				}
			}
			for at, n := range live {
				for i := range n {
					// require.Contains is slow.
					if !slices.Contains(f.candidates(nil, name(at, i), []int64{1, 2, 3, 4, 5, 6}), at) {
						require.Fail(t, "a key is hidden", "key %d of bucket %d", i, at)
					}
				}
			}
			require.LessOrEqual(t, f.bound.budget.Taken(), bytes)
		}
		f.close()
		require.Zero(t, f.bound.budget.Taken())
	})
}

func numbered(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }

func addNumbered(f *keyFilter, bucket int64, from, n int) {
	for i := range n {
		f.add(numbered(from+i), bucket)
	}
}

// hits returns, for each of the buckets, how many of 10,000 new keys it may have.
func hits(f *keyFilter, buckets ...int64) map[int64]int {
	n := map[int64]int{}
	for i := range 10_000 {
		for _, bucket := range f.candidates(nil, numbered(-1-i), buckets) {
			n[bucket]++
		}
	}
	return n
}

// After the end of a bucket the filter gets its memory back, even if it was full.
func TestFilterTakesNewKeysAfterItWasFull(t *testing.T) {
	f := newKeyFilter(NewKeyFilters(sectionsMin * sectionBytes(sectionKeysMin)))
	addNumbered(f, 1, 0, 50*sectionKeysMin)
	assert.Equal(t, 10_000, hits(f, 1)[1], "beyond the bound any key may exist")
	// Some of these keys are in the sections of the first bucket.
	addNumbered(f, 2, 0, sectionKeysMin)
	f.drop(1)
	for i := range sectionKeysMin {
		require.Equal(t, []int64{2}, f.candidates(nil, numbered(i), []int64{2}))
	}
	f.drop(2)
	assert.Empty(t, *f.sections.Load())
	addNumbered(f, 3, 0, sectionKeysMin)
	assert.Less(t, hits(f, 3)[3], 200)
	f.close()
}

// The bound is shared. It may be full at first, as after a start with many stored keys, and have
// room later. New keys are then looked up only in the buckets of that time, and not at all once
// these buckets are dropped.
func TestFilterTakesNewKeysWhenOthersMakeRoom(t *testing.T) {
	bound := NewKeyFilters(8 * sectionBytes(sectionKeysMin))
	full := 8 * sectionBytes(sectionKeysMin)
	require.True(t, bound.budget.Take(full))
	f := newKeyFilter(bound)
	addNumbered(f, 1, 0, 10*sectionKeysMin)
	addNumbered(f, 2, 10*sectionKeysMin, 10)
	assert.Equal(t, map[int64]int{1: 10_000, 2: 10_000}, hits(f, 1, 2))

	bound.budget.Give(full)
	addNumbered(f, 2, 0, askAgainKeys) // until it tries to reserve memory again
	addNumbered(f, 3, 20*sectionKeysMin, sectionKeysMin)
	found := hits(f, 1, 2, 3)
	assert.Less(t, found[3], 200)
	delete(found, 3)
	assert.Equal(t, map[int64]int{1: 10_000, 2: 10_000}, found, "keys of these buckets are in no section with bits")

	f.drop(2)
	assert.Less(t, hits(f, 3)[3], 200)
	f.close()
	assert.Zero(t, bound.budget.Taken())
}

func TestNewKeyIsNotLookedUpInTheStore(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{})
	defer closeStore(t, s)
	b := s.NewBatch()
	putKeys(t, b, 10, 0, 30_000)
	putKeys(t, b, 20, 30_000, 30_000)
	found, gets := lookUp(t, b, 60_000, 1_000, 10, 20)
	assert.Zero(t, found)
	assert.Less(t, gets, uint64(100), "1 or 2 for each false positive")
	before := s.Counters()
	assert.Equal(t, uint64(1_000), before.KeysNew+before.KeysInVain)
	assert.GreaterOrEqual(t, gets, before.KeysInVain)
	found, _ = lookUp(t, b, 0, 60_000, 10, 20)
	assert.Equal(t, 60_000, found)
	c := s.Counters()
	assert.Equal(t, uint64(60_000), c.KeysFound)
	assert.Equal(t, before.KeysInVain, c.KeysInVain)
	assert.InDelta(t, 60_000, c.KeyFilterKeys, 600, "keys that were false positives are not counted")
	assert.GreaterOrEqual(t, c.KeyFilterBytes, c.KeyFilterKeys)
}

func TestFilterWithoutMemoryReadsTheStore(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{KeyFilters: NewKeyFilters(0)})
	defer closeStore(t, s)
	b := s.NewBatch()
	putKeys(t, b, 10, 0, 100)
	found, gets := lookUp(t, b, 0, 200, 10, 20)
	assert.Equal(t, 100, found)
	assert.Equal(t, uint64(400), gets)
}

// A restarted store finds all its keys, including those written just before a crash, and looks up
// hardly any new key in its tables.
func TestFilterAfterARestart(t *testing.T) {
	const n = 10_000
	fs := vfs.NewCrashableMem()
	s := open(t, fs, Options{})
	b := s.NewBatch()
	putKeys(t, b, 10, 0, n-5)
	require.NoError(t, s.Flush())
	putKeys(t, b, 20, n-5, 5)
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	closeStore(t, s)

	for what, fs := range map[string]vfs.FS{"closed": fs, "crashed": crashed} {
		s := open(t, fs, Options{})
		b := s.NewBatch()
		_, gets := lookUp(t, b, n, 1_000, 10, 20)
		assert.Less(t, gets, uint64(100), what)
		putKeys(t, b, 20, n, 100)
		found, _ := lookUp(t, b, 0, n+200, 10, 20)
		assert.Equal(t, n+100, found, what)
		assert.Positive(t, s.Counters().KeyFilterBytes, what)
		closeStore(t, s)
	}
}

// applied applies proposed entries to stores, starting at an index.
func applied(t *testing.T, index uint64, entries [][]byte, stores ...*Store) {
	t.Helper()
	for i, e := range entries {
		for _, s := range stores {
			_, err := s.Apply([]LogEntry{{Index: index + uint64(i), Term: 1, Data: e}})
			require.NoError(t, err)
		}
	}
}

func openCopy(t *testing.T) *Store {
	t.Helper()
	s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: None, Replicated: true, KeyFilters: NewKeyFilters(DefaultKeyFilterBytes)})
	require.NoError(t, err)
	return s
}

// A node that has applied the keys of an earlier leader leads with a filter that has them.
func TestFilterAfterAFailover(t *testing.T) {
	leader, follower := openCopy(t), openCopy(t)
	defer closeStore(t, leader)
	defer closeStore(t, follower)
	first := Tenure{Term: 1, ID: 7}
	p := &paper{entries: [][]byte{first.Begin()}}
	b := leader.NewReplicatedBatch(p, first)
	putKeys(t, b, 10, 0, 20_000)
	putKeys(t, b, 20, 20_000, 20_000)
	b.PutTask(queue.Ref{Seq: 1}, queue.Task{})
	_, err := b.Submit()
	require.NoError(t, err)
	var flags []byte
	for _, e := range p.entries[1:] {
		flags = append(flags, e[1])
	}
	assert.Equal(t, []byte{0, 0, entryNoKeys}, flags)
	applied(t, 1, p.entries, leader, follower)

	second := Tenure{Term: 1, ID: 8}
	applied(t, 10, [][]byte{second.Begin()}, leader, follower)
	p = &paper{}
	b = follower.NewReplicatedBatch(p, second)
	found, _ := lookUp(t, b, 0, 40_000, 10, 20)
	assert.Equal(t, 40_000, found)
	found, gets := lookUp(t, b, 40_000, 1_000, 10, 20)
	assert.Zero(t, found)
	assert.Less(t, gets, uint64(100))

	// A proposed drop may never be applied.
	b.DropKeys(10)
	_, err = b.Submit()
	require.NoError(t, err)
	found, _ = lookUp(t, b, 0, 40_000, 10, 20)
	assert.Equal(t, 40_000, found)
	applied(t, 11, p.entries, leader, follower)
	found, _ = lookUp(t, b, 0, 40_000, 10, 20)
	assert.Equal(t, 20_000, found)
	b.DropKeys(20)
	_, err = b.Submit()
	require.NoError(t, err)
	applied(t, 12, p.entries[1:], leader, follower)
	for _, s := range []*Store{leader, follower} {
		assert.Zero(t, s.filter.bound.budget.Taken())
	}
}

// The end of a range lacks its trailing zeros.
func TestDropsOfAnEntryAreRead(t *testing.T) {
	s := openCopy(t)
	defer closeStore(t, s)
	for _, bucket := range []int64{1, 254, 255, 256, 0xffff, 1 << 40, 1<<40 - 1} {
		b := s.NewBatch()
		b.DropKeys(3)
		b.DropKeys(bucket)
		b.DropResults(bucket + 7)
		got, err := s.filter.added(b.b.Repr(), 2)
		require.NoError(t, err)
		assert.Equal(t, max(3, bucket), got)
		b.PutKey(1, "again", bucket, queue.KeyRef{})
		got, err = s.filter.added(b.b.Repr(), 2)
		require.NoError(t, err)
		assert.LessOrEqual(t, got, int64(0), "a bucket that has a key again is not dropped")
		require.NoError(t, b.b.Close())
	}
}

func TestKeysOfKeysAreParsed(t *testing.T) {
	bucket, name, err := record.ParseKeyKey(record.KeyKey(77, 5, "key"))
	require.NoError(t, err)
	assert.Equal(t, int64(77), bucket)
	assert.Equal(t, record.AppendKeyName(nil, 5, "key"), name)
	_, _, err = record.ParseKeyKey([]byte("k1234"))
	require.EqualError(t, err, "key 6b31323334 of an idempotency key has 5 bytes, expected at least 13")
}

// BenchmarkKeyCheck measures the look-up of a new idempotency key among 10 million live ones in 1
// and in 4 buckets, with and without a filter. The store is in the temporary folder, with
// durability none and the default caches.
func BenchmarkKeyCheck(b *testing.B) {
	for _, buckets := range []int{1, 4} {
		b.Run(fmt.Sprintf("buckets=%d", buckets), func(b *testing.B) { benchmarkKeyCheck(b, buckets) })
	}
}

func benchmarkKeyCheck(b *testing.B, buckets int) {
	const live, commits = 10_000_000, 4_096
	dir := b.TempDir()
	s, err := Open(dir, Options{Durability: None})
	require.NoError(b, err)
	batch := s.NewBatch()
	var all []int64
	for k := range buckets {
		all = append(all, int64(k+1))
	}
	for i := 0; i < live; i += commits {
		putKeys(b, batch, all[i*buckets/live], i, min(commits, live-i))
	}
	require.NoError(b, s.Close())
	absent := make([]string, 1<<20) // between the live ones, at random
	for i := range absent {
		absent[i] = keyNumber(rand.IntN(live)) + "x"
	}
	for what, bytes := range map[string]int64{"filter": DefaultKeyFilterBytes, "none": 0} {
		began := time.Now()
		s, err := Open(dir, Options{Durability: None, KeyFilters: NewKeyFilters(bytes)})
		require.NoError(b, err)
		if s.filter != nil {
			b.Logf("opening the store took %v; its filter uses %d bytes", time.Since(began), s.filter.bound.budget.Taken())
		}
		batch, next := s.NewBatch(), 0
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			before := s.Counters().Gets
			for b.Loop() {
				if _, found := batch.FindKey(1, absent[next%len(absent)], all); found {
					b.Fatal("found a key that was not put")
				}
				next++
			}
			b.ReportMetric(float64(s.Counters().Gets-before)/float64(b.N), "gets/op")
		})
		require.NoError(b, s.Close())
	}
}

package storage

import (
	"runtime"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// The filters of tables, both of a new table and of the last level, rule out keys that do not exist
// but lie between existing ones.
func TestAbsentKeysAreRuledOutByTheFiltersOfTables(t *testing.T) {
	s := open(t, vfs.NewMem(), Options{KeyFilters: NewKeyFilters(0)})
	defer closeStore(t, s)
	b := s.NewBatch()
	const n = 1_000
	for i := range uint64(n) {
		ref := queue.Ref{Queue: 1, Seq: 2 * i}
		b.PutTask(ref, queue.Task{})
		b.PutResult(ref, 10, queue.Result{Value: []byte("done")})
	}
	putKeys(t, b, 10, 0, n)
	require.NoError(t, s.Flush())
	ruledOut := func(look func(i int)) int64 {
		before := s.db.Metrics().Filter.Hits
		for i := range n {
			look(i)
		}
		return s.db.Metrics().Filter.Hits - before
	}
	task := func(i int) {
		_, found, err := s.Task(queue.Ref{Queue: 1, Seq: 2*uint64(i) + 1})
		require.NoError(t, err)
		require.False(t, found)
	}
	result := func(i int) {
		_, found, err := s.Result(queue.Ref{Queue: 1, Seq: 2*uint64(i) + 1}, []int64{10})
		require.NoError(t, err)
		require.False(t, found)
	}
	key := func(i int) {
		_, found := b.FindKey(1, keyNumber(i)+"x", []int64{10})
		require.False(t, found)
	}
	assert.Greater(t, ruledOut(task), int64(900), "of a flushed table")
	assert.Greater(t, ruledOut(result), int64(900), "of a flushed table")
	assert.Greater(t, ruledOut(key), int64(900), "of a flushed table")
	require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	require.Positive(t, s.db.Metrics().Levels[6].TablesCount)
	assert.Greater(t, ruledOut(result), int64(900), "of a table of the last level")
	assert.Greater(t, ruledOut(key), int64(900), "of a table of the last level")
	for i := range uint64(n) {
		r, found, err := s.Result(queue.Ref{Queue: 1, Seq: 2 * i}, []int64{5, 10})
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, "done", string(r.Value))
	}
	found, gets := lookUp(t, b, 0, n, 5, 10)
	assert.Equal(t, n, found)
	assert.Equal(t, uint64(2*n), gets)
}

// Other goroutines run while a table is written.
func TestWritingATableYieldsTheProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := tableFilter.NewWriter(pebble.TableFilter)
	ran := 0
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				ran++
				runtime.Gosched()
			}
		}
	}()
	for range 100 * yieldKeys {
		w.AddKey([]byte("key"))
	}
	close(stop)
	<-ended
	assert.GreaterOrEqual(t, ran, 50)
}

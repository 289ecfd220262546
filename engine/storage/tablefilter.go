package storage

import (
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// tableFilter makes the Bloom filters of tables, of 10 bits for each key: one look-up in a hundred reads a table in vain.
var tableFilter = tableFilterPolicy{bloom.FilterPolicy(10)}

// yieldKeys is how many keys a flush or a compaction writes, in some 0.1 ms, until other goroutines run.
const yieldKeys = 128

// tableFilterPolicy is a Bloom filter whose writers yield the processor. Flushes and compactions use a processor for up to seconds, and the runtime
// takes it from them only after 10 ms. With one processor a task waits that long at each of its hops between goroutines. The writer of a
// filter is the only code of ours that Pebble calls for each key that it writes to a table.
type tableFilterPolicy struct{ bloom.FilterPolicy }

// NewWriter implements pebble.FilterPolicy.
func (p tableFilterPolicy) NewWriter(t pebble.FilterType) pebble.FilterWriter {
	return &tableFilterWriter{FilterWriter: p.FilterPolicy.NewWriter(t)}
}

// levels returns the options of levels whose tables have the filter.
func (p tableFilterPolicy) levels() [7]pebble.LevelOptions {
	var o pebble.Options
	o.Levels[0].FilterPolicy = p // the other levels take it over
	return o.Levels
}

type tableFilterWriter struct {
	pebble.FilterWriter
	keys int // since the last yield
}

// AddKey implements pebble.FilterWriter.
func (w *tableFilterWriter) AddKey(key []byte) {
	w.FilterWriter.AddKey(key)
	if w.keys++; w.keys == yieldKeys {
		w.keys = 0
		runtime.Gosched()
	}
}

package storage

import (
	"runtime"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// tableFilter creates the Bloom filters of tables, with 10 bits per key. About one in a hundred
// look-ups of a missing key reads a table unnecessarily.
var tableFilter = tableFilterPolicy{bloom.FilterPolicy(10)}

// yieldKeys is the number of keys after which a flush or compaction lets other goroutines run. It
// writes so many keys in about 0.1 ms.
const yieldKeys = 128

// tableFilterPolicy is a Bloom filter policy whose writers yield the processor. Flushes and
// compactions use a processor for up to seconds, and the Go runtime preempts them only after 10 ms.
// With a single processor, a task would wait up to 10 ms each time it passes from one goroutine to
// another. The filter writer is where the yield is added, because Pebble calls it for each key that
// it writes to a table.
type tableFilterPolicy struct{ bloom.FilterPolicy }

// NewWriter implements pebble.FilterPolicy.
func (p tableFilterPolicy) NewWriter(t pebble.FilterType) pebble.FilterWriter {
	return &tableFilterWriter{FilterWriter: p.FilterPolicy.NewWriter(t)}
}

func (p tableFilterPolicy) levels() [7]pebble.LevelOptions {
	var o pebble.Options
	o.Levels[0].FilterPolicy = p // the other levels inherit it
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

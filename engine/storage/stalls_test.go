package storage

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/queue"
)

// heldFiles is a file system that blocks the creation of files of a kind while held is set. It
// matches the suffix anywhere in the name, because a log's name may continue after it.
type heldFiles struct {
	vfs.FS
	suffix  string
	held    atomic.Bool
	entered chan struct{}
	gate    chan struct{}
}

func newHeldFiles(suffix string) *heldFiles {
	return &heldFiles{FS: vfs.NewMem(), suffix: suffix, entered: make(chan struct{}, 1), gate: make(chan struct{})}
}

func (fs *heldFiles) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.Contains(name, fs.suffix) && fs.held.Load() {
		select {
		case fs.entered <- struct{}{}:
		default:
		}
		<-fs.gate
	}
	return fs.FS.Create(name, c)
}

func (fs *heldFiles) letGo() {
	fs.held.Store(false)
	close(fs.gate)
}

// largest commits large tasks until the selected part of a commit is at least heldAtLeast, and
// returns the parts of that commit.
func largest(t *testing.T, s *Store, of func(stalls.Parts) time.Duration) stalls.Parts {
	t.Helper()
	b := s.NewBatch()
	for seq := uint64(1); seq < 1_000; seq++ {
		b.PutTask(seqRef(seq), queue.Task{Payload: make([]byte, 4<<10)})
		c, err := b.Submit()
		require.NoError(t, err)
		parts, err := c.WaitParts()
		require.NoError(t, err)
		if of(parts) >= heldAtLeast {
			return parts
		}
	}
	require.Fail(t, "no commit waited")
	return stalls.Parts{}
}

// heldAtLeast is how long a test blocks the disk. The parts are at least that long, regardless of
// the speed of the host.
const heldAtLeast = 2 * time.Millisecond

// release unblocks the files heldAtLeast after one was blocked.
func (fs *heldFiles) release(s *Store, stalled bool) {
	<-fs.entered
	for stalled && s.PebbleMetrics().StallSeconds < heldAtLeast.Seconds() {
		<-time.After(waitStep)
	}
	<-time.After(heldAtLeast)
	fs.letGo()
}

func TestACommitThatRotatesTheLogSaysSo(t *testing.T) {
	fs := newHeldFiles(".log")
	s := open(t, fs, Options{Durability: None, MemTableBytes: 64 << 10})
	defer closeStore(t, s)
	fs.held.Store(true)
	go fs.release(s, false)
	parts := largest(t, s, func(p stalls.Parts) time.Duration { return p.Rotation })
	assert.GreaterOrEqual(t, parts.Rotation, heldAtLeast)
}

// Commits wait for a flush when the maximum number of memtables wait. The stall log records the
// flush.
func TestACommitThatWaitsForAFlushSaysSo(t *testing.T) {
	fs := newHeldFiles(".sst")
	log := stalls.New()
	s := open(t, fs, Options{Durability: None, MemTableBytes: 64 << 10, Stalls: log})
	defer closeStore(t, s)
	fs.held.Store(true)
	go fs.release(s, true)
	parts := largest(t, s, func(p stalls.Parts) time.Duration { return p.MemTables })
	assert.GreaterOrEqual(t, parts.MemTables, heldAtLeast)
	var flush stalls.Span
	require.Eventually(t, func() bool { // the flush ends shortly after the commit resumes
		spans := log.Record().Spans
		i := slices.IndexFunc(spans, func(s stalls.Span) bool { return s.Kind == stalls.FlushWork })
		if i >= 0 {
			flush = spans[i]
		}
		return flush.Ended > 0
	}, waitMost, waitStep)
	assert.Equal(t, "shard", flush.Store)
	assert.GreaterOrEqual(t, flush.Ended-flush.Began, heldAtLeast)
}

func TestCompactionsAreRecorded(t *testing.T) {
	log := stalls.New()
	s := open(t, vfs.NewMem(), Options{Durability: None, Stalls: log})
	defer closeStore(t, s)
	for range 3 { // tables that overlap
		putSeq(t, s, 1)
		putSeq(t, s, 9)
		require.NoError(t, s.Flush())
	}
	require.NoError(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	kinds := map[stalls.Kind]int{}
	for _, span := range log.Record().Spans {
		kinds[span.Kind]++
	}
	assert.GreaterOrEqual(t, kinds[stalls.FlushWork], 3)
	assert.Positive(t, kinds[stalls.CompactionWork])
}

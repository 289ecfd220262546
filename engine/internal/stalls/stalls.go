// Package stalls records the slow commits of a node and their causes. It also records the
// background work of the node's stores.
//
// If a commit takes longer than Slow, its shard passes it to Add. The stores report their flushes,
// compactions and long fsyncs. Both records are rings: new entries replace the oldest ones. The
// totals for each cause include everything since the start of the process.
package stalls

import (
	"sync"
	"sync/atomic"
	"time"
)

// Slow is the threshold of recording: a commit is recorded if it takes longer.
const Slow = 5 * time.Millisecond

// Cause is a cause of the duration of a commit.
type Cause uint8

// These are the causes. The first eight are waits whose duration is known. The others are
// activities during the remaining time of the commit.
const (
	Semaphore  Cause = iota // too many commits were in progress in Pebble
	MemTables               // too many memtables waited for their flush
	Level0                  // too many tables waited for their compaction
	Rotation                // Pebble closed its log and started a new one
	Fsync                   // an fsync of the log
	Behind                  // earlier commits had to be answered first
	RaftRoom                // too many entries were in progress in Raft
	Replicate               // a majority had no copy yet, or this node could not apply it
	Flush                   // a flush ran
	Compaction              // a compaction ran
	Collection              // a garbage collection ended
	Scheduler               // a goroutine waited for a processor
	Other                   // none of the other causes
	causes
)

var causeNames = [causes]string{
	"semaphore", "memtables", "level0", "rotation", "fsync", "behind", "raft_room", "replicate", "flush", "compaction", "gc", "scheduler", "other",
}

// String returns the cause's name in metrics.
func (c Cause) String() string { return causeNames[c] }

// Causes returns all causes.
func Causes() []Cause {
	out := make([]Cause, causes)
	for i := range out {
		out[i] = Cause(i)
	}
	return out
}

// Parts contains the waits of a commit whose duration is known. The waits do not overlap.
type Parts struct {
	Semaphore, MemTables, Level0, Rotation time.Duration
	// Sync is the wait for the log. An fsync may be only a part of it.
	Sync                        time.Duration
	Behind, RaftRoom, Replicate time.Duration
}

// Commit is a slow commit. Its times are times of stages.Now.
type Commit struct {
	Shard    int
	Commands int
	Began    time.Duration
	Ended    time.Duration
	Parts    Parts
	Ran      Ran

	// ByCause divides the duration of the commit among the causes. Cause is the cause with the
	// largest part.
	ByCause [causes]time.Duration
	Cause   Cause
}

// Ran describes activities during a commit in addition to its waits. Add sets it.
type Ran struct {
	Flush, Compaction, Fsync, Append time.Duration // each is at most the commit's duration
	// Collections is the number of garbage collections that ended during the commit.
	Collections int
	// Waited is the longest wait of a goroutine for a processor. Only waits that ended in a period
	// of length Over before the commit's end are considered. Waited is rounded down to a bound of
	// the runtime's histogram. If the last reading of the runtime before the commit is older than
	// readingMax, Over is 0.
	Waited, Over time.Duration
}

const (
	commitsMax = 2048
	spansMax   = 2048
)

// Log records the slow commits and the background work of a node. A nil Log records nothing. Log is
// safe for concurrent use.
type Log struct {
	readAgain atomic.Int64 // time at which the runtime should be read next, by stages.Now
	read      func(*reading)
	collected func(from, to time.Duration) int

	mu      sync.Mutex
	commits ring[Commit]
	spans   ring[Span]
	running []Span
	runtime readings
	counts  [causes]uint64
	sums    [causes]time.Duration
}

// New returns an empty Log.
func New() *Log {
	return &Log{read: readRuntime, collected: collections, commits: newRing[Commit](commitsMax), spans: newRing[Span](spansMax)}
}

// Wants reports whether the caller must call Add for a commit. This is the case if the commit was
// slow, or if the runtime should be read.
func (l *Log) Wants(began, ended time.Duration) bool {
	return l != nil && (ended-began > Slow || int64(ended) >= l.readAgain.Load())
}

// Add records a commit if it was slow. It also reads the runtime if it is time to do so.
func (l *Log) Add(c Commit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if took := c.Ended - c.Began; took > Slow {
		l.fill(&c)
		l.commits.add(c)
		l.counts[c.Cause]++
		for cause, part := range c.ByCause {
			l.sums[cause] += part
		}
	}
	if int64(c.Ended) >= l.readAgain.Load() {
		l.runtime.keep(l.read, c.Ended)
		l.readAgain.Store(int64(c.Ended + readEvery))
	}
}

// fill sets Ran and divides the commit's duration among the causes.
func (l *Log) fill(c *Commit) {
	took := c.Ended - c.Began
	ran := func(kind Kind) time.Duration { return min(took, l.overlap(kind, c.Began, c.Ended)) }
	c.Ran = Ran{
		Flush: ran(FlushWork), Compaction: ran(CompactionWork), Fsync: ran(FsyncWork), Append: ran(AppendWork),
		Collections: l.collected(c.Began, c.Ended),
	}
	c.Ran.Waited, c.Ran.Over = l.runtime.waited(l.read, c.Began, c.Ended)
	c.divide()
}

func (c *Commit) divide() {
	rest := c.Ended - c.Began
	give := func(cause Cause, part time.Duration) {
		part = max(0, min(part, rest))
		c.ByCause[cause] += part
		rest -= part
	}
	p := c.Parts
	give(Semaphore, p.Semaphore)
	give(MemTables, p.MemTables)
	give(Level0, p.Level0)
	give(Rotation, p.Rotation)
	give(Behind, p.Behind)
	give(RaftRoom, p.RaftRoom)
	give(Replicate, p.Replicate)
	give(Fsync, min(p.Sync, c.Ran.Fsync))
	give(c.Ran.most(rest), rest)
	for cause, part := range c.ByCause {
		if part > c.ByCause[c.Cause] {
			c.Cause = Cause(cause)
		}
	}
}

// most returns the most likely cause of a delay for which no wait was recorded. Work that ran for
// at least half of the time takes precedence over the causes in the runtime, because a flush makes
// goroutines wait for a processor, but not vice versa.
func (r *Ran) most(rest time.Duration) Cause {
	switch {
	case 2*r.Flush >= rest && r.Flush > 0:
		return Flush
	case 2*r.Compaction >= rest && r.Compaction > 0:
		return Compaction
	case r.Collections > 0:
		return Collection
	case 2*r.Waited >= rest && r.Waited > 0:
		return Scheduler
	default:
		return Other
	}
}

// Totals returns the number of slow commits that have the given cause as Cause, and the cause's
// total time in all slow commits.
func (l *Log) Totals(c Cause) (commits uint64, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[c], l.sums[c]
}

// Record is a copy of the contents of a Log.
type Record struct {
	Commits      []Commit // in the order in which they ended
	CommitsTotal uint64   // number of all slow commits, including those that were replaced
	Spans        []Span   // in the order in which they ended, then those that still run
	SpansTotal   uint64
}

// Record returns a copy of the Log's contents.
func (l *Log) Record() Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Record{
		Commits: l.commits.all(), CommitsTotal: l.commits.total, Spans: append(l.spans.all(), l.running...), SpansTotal: l.spans.total + uint64(len(l.running)),
	}
}

// ring keeps the max newest entries.
type ring[T any] struct {
	kept  []T
	max   int
	total uint64 // number of all entries that were ever added
}

func newRing[T any](most int) ring[T] { return ring[T]{max: most} }

func (r *ring[T]) add(v T) {
	if len(r.kept) < r.max {
		r.kept = append(r.kept, v)
	} else {
		r.kept[r.total%uint64(r.max)] = v
	}
	r.total++
}

// newest returns the i-th newest entry, counting from 0. i must be below len(kept).
func (r *ring[T]) newest(i int) *T {
	return &r.kept[(r.total-1-uint64(i))%uint64(r.max)]
}

func (r *ring[T]) all() []T {
	out := make([]T, 0, len(r.kept))
	for i := len(r.kept) - 1; i >= 0; i-- {
		out = append(out, *r.newest(i))
	}
	return out
}

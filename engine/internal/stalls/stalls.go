// Package stalls records the slow commits of a node, with the causes, and the work of its stores that ran beside them.
//
// The shards give each commit that took longer than Slow to Add. The stores report their flushes, compactions and long fsyncs. Both
// records are rings: the oldest entries make room for new ones. The totals by cause count everything since the process began.
package stalls

import (
	"sync"
	"sync/atomic"
	"time"
)

// Slow is how long a commit takes at least to be recorded.
const Slow = 5 * time.Millisecond

// Cause is what a commit spent its time on.
type Cause uint8

// The causes. The first eight are waits whose time is known. The others are what ran during the rest of the commit's time.
const (
	Semaphore  Cause = iota // too many commits were under way in Pebble
	MemTables               // too many memtables waited for their flush
	Level0                  // too many tables waited for their compaction
	Rotation                // Pebble ended its log and began a new one
	Fsync                   // the log's fsync
	Behind                  // commits before it, which are answered first
	RaftRoom                // too many entries were under way in Raft
	Replicate               // until a majority had the entry and it was its turn to be applied
	Flush                   // a flush ran
	Compaction              // a compaction ran
	Collection              // a garbage collection ended
	Scheduler               // a goroutine waited for a processor
	Other                   // nothing of these
	causes
)

var causeNames = [causes]string{
	"semaphore", "memtables", "level0", "rotation", "fsync", "behind", "raft_room", "replicate", "flush", "compaction", "gc", "scheduler", "other",
}

// String returns the cause's name, as it is exported.
func (c Cause) String() string { return causeNames[c] }

// Causes returns all causes.
func Causes() []Cause {
	out := make([]Cause, causes)
	for i := range out {
		out[i] = Cause(i)
	}
	return out
}

// Parts are the waits of a commit whose time is known. They do not overlap.
type Parts struct {
	Semaphore, MemTables, Level0, Rotation time.Duration
	// Sync is the wait for the log. Only a part of it may be an fsync.
	Sync                        time.Duration
	Behind, RaftRoom, Replicate time.Duration
}

// Commit is a slow commit. Times are those of stages.Now.
type Commit struct {
	Shard    int
	Commands int
	Began    time.Duration
	Ended    time.Duration
	Parts    Parts
	Ran      Ran

	// ByCause divides the time of the commit. Cause has the largest part.
	ByCause [causes]time.Duration
	Cause   Cause
}

// Ran is what else ran during a commit. Add fills it in.
type Ran struct {
	Flush, Compaction, Fsync, Append time.Duration // at most the commit's time
	// Collections is how many garbage collections ended.
	Collections int
	// Waited is the longest time that a goroutine waited for a processor, rounded down to a bound of the runtime's histogram, among
	// the waits that ended in the time Over before the commit's end. Over is 0 if the runtime was not read for longer than readingMax.
	Waited, Over time.Duration
}

const (
	commitsMax = 2048
	spansMax   = 2048
)

// Log is the record of a node. A nil Log records nothing. It is safe for concurrent use.
type Log struct {
	readAgain atomic.Int64 // when the runtime is to be read again, by stages.Now
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

// New returns an empty record.
func New() *Log {
	return &Log{read: readRuntime, collected: collections, commits: newRing[Commit](commitsMax), spans: newRing[Span](spansMax)}
}

// Wants reports whether Add is to be called for a commit: because it was slow, or because the runtime is to be read again.
func (l *Log) Wants(began, ended time.Duration) bool {
	return l != nil && (ended-began > Slow || int64(ended) >= l.readAgain.Load())
}

// Add records a commit that was slow. It also reads the runtime, if that is due.
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

// fill fills in what ran during a commit, and divides its time.
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

// divide divides the commit's time among the causes.
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

// most returns what explains a time in which no known wait was. Work that ran for at least half of the time comes before what the
// runtime says: a flush makes goroutines wait for a processor, and not the other way round.
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

// Totals returns how many slow commits had a cause as their largest part, and the time of all slow commits that the cause took.
func (l *Log) Totals(c Cause) (commits uint64, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[c], l.sums[c]
}

// Record is a copy of what a Log holds.
type Record struct {
	Commits      []Commit // in the order of their ends
	CommitsTotal uint64   // with those that made room
	Spans        []Span   // in the order of their ends; those under way come last
	SpansTotal   uint64
}

// Record returns what the Log holds.
func (l *Log) Record() Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Record{
		Commits: l.commits.all(), CommitsTotal: l.commits.total, Spans: append(l.spans.all(), l.running...), SpansTotal: l.spans.total + uint64(len(l.running)),
	}
}

// ring keeps the last entries.
type ring[T any] struct {
	kept  []T
	max   int
	total uint64 // ever added
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

// newest returns the i-th entry from the end, from 0. The caller checks i against len(kept).
func (r *ring[T]) newest(i int) *T {
	return &r.kept[(r.total-1-uint64(i))%uint64(r.max)]
}

// all returns the entries in the order in which they were added.
func (r *ring[T]) all() []T {
	out := make([]T, 0, len(r.kept))
	for i := len(r.kept) - 1; i >= 0; i-- {
		out = append(out, *r.newest(i))
	}
	return out
}

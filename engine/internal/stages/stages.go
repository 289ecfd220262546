// Package stages measures how long the stages of a shard's pipeline take, in histograms whose buckets double.
package stages

import (
	"math/bits"
	"sync"
	"time"
)

// Stage is a part of what happens to a batch of commands.
type Stage uint8

// The stages. Receive is of messages, and comes before the others. Ready is of tasks. Those of a shard that has a log of its own come one after the
// other: Inbox, Decide, Apply, CommitWait, Commit, Reply, and together they are the time from the oldest command's arrival until all answers are out.
// Those of a replicated shard are Inbox, Decide, CommitWait, Commit, Reply; Replicate and Apply are parts of Commit.
const (
	// Receive is from the receipt of a message until its commands wait for their shards: of a stream until the stream reads on, of another
	// call until its command waits, and of a claim that brings completions until the claim waits.
	Receive Stage = iota
	// Inbox is from the arrival of a batch's oldest command until the batch is decided.
	Inbox
	// Decide is the decision of one batch.
	Decide
	// CommitWait is how long a batch waits before it commits: behind the commits before it, or for room in the Raft log.
	CommitWait
	// Commit is from then until the batch is durable.
	Commit
	// Replicate is from an entry's proposal until a majority has it and it is this node's turn to apply it.
	Replicate
	// Apply is writing one batch, or the entries of one call of Raft's, to the store.
	Apply
	// Reply is from the end of the commit until the last answer of the batch is handed out.
	Reply
	// Ready is of tasks without a delay: from the turn that enqueued a task until the turn that leased the task first.
	Ready
	count
)

var names = [count]string{"receive", "inbox", "decide", "commit_wait", "commit", "replicate", "apply", "reply", "ready"}

// String returns the stage's name, as it is exported.
func (s Stage) String() string { return names[s] }

// All returns the stages.
func All() []Stage {
	out := make([]Stage, count)
	for i := range out {
		out[i] = Stage(i)
	}
	return out
}

// boundsMax is how many buckets have an upper bound: 1 us, 2 us, 4 us and so on, up to 8.4 s.
const boundsMax = 24

// Bound returns the upper bound of a bucket.
func Bound(bucket int) time.Duration { return time.Microsecond << bucket }

// Times are the histograms of one shard's stages. They are safe for concurrent use; the zero value is ready. One lock for
// all stages of a batch: with atomic counters a batch's times took three times as long.
type Times struct {
	mu sync.Mutex
	of [count]histogram
}

type histogram struct {
	counts [boundsMax + 1]uint64 // the last one is of what is above all bounds
	sum    time.Duration
}

// Timed is how long something was in a stage.
type Timed struct {
	Stage Stage
	Took  time.Duration
}

// Observe adds times to the histograms of their stages.
func (t *Times) Observe(all ...Timed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range all {
		h := &t.of[o.Stage]
		h.counts[bucket(o.Took)]++
		h.sum += o.Took
	}
}

// ObserveSample adds a time that stands for n times of a stage.
func (t *Times) ObserveSample(o Timed, n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := &t.of[o.Stage]
	h.counts[bucket(o.Took)] += n
	h.sum += o.Took * time.Duration(n)
}

// bucket returns the first one whose bound is not below a time.
func bucket(d time.Duration) int {
	if d <= time.Microsecond {
		return 0
	}
	us := uint64((d + time.Microsecond - 1) / time.Microsecond) // rounded up
	return min(bits.Len64(us-1), boundsMax)
}

// Histogram is what a stage's histogram holds.
type Histogram struct {
	Count uint64
	Sum   time.Duration
	// Upto counts, for each bound, what is not above it.
	Upto [boundsMax]uint64
}

// Read returns a stage's histogram.
func (t *Times) Read(s Stage) Histogram {
	t.mu.Lock()
	h := t.of[s]
	t.mu.Unlock()
	out := Histogram{Sum: h.sum}
	for i, n := range h.counts {
		out.Count += n
		if i < boundsMax {
			out.Upto[i] = out.Count
		}
	}
	return out
}

var start = time.Now()

// Now is a time of the process's monotonic clock, above 0. Reading it costs half of what time.Now does.
func Now() time.Duration { return max(1, time.Since(start)) }

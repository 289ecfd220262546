// Package stages measures how long the stages of a shard's pipeline take, in histograms whose
// buckets double.
package stages

import (
	"math/bits"
	"sync"
	"time"
)

// Stage is a part of the processing of a batch of commands.
type Stage uint8

// The stages. Receive applies to messages and precedes the others. Ready applies to tasks. The
// stages of a shard with its own log follow one another: Inbox, Decide, Apply, CommitWait, Commit,
// Reply. Together they are the time from the oldest command's arrival until all answers are sent.
// The stages of a replicated shard are Inbox, Decide, CommitWait, Commit, Reply; Replicate and
// Apply are parts of Commit.
const (
	// Receive is the time from the receipt of a message until its commands wait for their shards.
	// For a stream it ends when the stream reads its next message, for another call when its
	// command waits, and for a claim with completions when the claim waits.
	Receive Stage = iota
	// Inbox is the time from the arrival of a batch's oldest command until its decision begins.
	Inbox
	// Decide is the time of the decision of one batch.
	Decide
	// CommitWait is the time that a batch waits before it commits: for earlier commits, or for room
	// in the Raft log.
	CommitWait
	// Commit is the time from the end of CommitWait until the batch is durable.
	Commit
	// Replicate is the time from an entry's proposal until a majority has the entry and this node
	// is ready to apply it.
	Replicate
	// Apply is the time to write one batch, or the entries of one call from Raft, to the store.
	Apply
	// Reply is the time from the end of the commit until the last answer of the batch is sent.
	Reply
	// Ready is the time from the turn that enqueued a task until the turn of its first lease. Tasks
	// with a delay do not count.
	Ready
	count
)

var names = [count]string{"receive", "inbox", "decide", "commit_wait", "commit", "replicate", "apply", "reply", "ready"}

// String returns the stage's name in metrics.
func (s Stage) String() string { return names[s] }

// All returns the stages.
func All() []Stage {
	out := make([]Stage, count)
	for i := range out {
		out[i] = Stage(i)
	}
	return out
}

// boundsMax is the number of buckets with an upper bound: 1 us, 2 us, 4 us and so on, up to 8.4 s.
const boundsMax = 24

// Bound returns the upper bound of a bucket.
func Bound(bucket int) time.Duration { return time.Microsecond << bucket }

// Times has the histograms of one shard's stages. It is safe for concurrent use; the zero value is
// ready for use. One lock covers all stages of a batch: with atomic counters, recording a batch
// took three times as long.
type Times struct {
	mu sync.Mutex
	of [count]histogram
}

type histogram struct {
	counts [boundsMax + 1]uint64 // the last one counts times above all bounds
	sum    time.Duration
}

// Timed is a time spent in a stage.
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

// ObserveSample adds a time that represents n equal times of a stage.
func (t *Times) ObserveSample(o Timed, n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := &t.of[o.Stage]
	h.counts[bucket(o.Took)] += n
	h.sum += o.Took * time.Duration(n)
}

// bucket returns the first bucket whose bound is at least d.
func bucket(d time.Duration) int {
	if d <= time.Microsecond {
		return 0
	}
	us := uint64((d + time.Microsecond - 1) / time.Microsecond) // rounded up
	return min(bits.Len64(us-1), boundsMax)
}

// Histogram is a copy of a stage's histogram.
type Histogram struct {
	Count uint64
	Sum   time.Duration
	// Upto counts, for each bound, the times up to the bound.
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

// Now returns the time of the process's monotonic clock, which is above 0. It costs half of a
// time.Now.
func Now() time.Duration { return max(1, time.Since(start)) }

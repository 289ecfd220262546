// Package stages measures the durations of the stages of a shard's pipeline. It uses histograms in
// which the upper bound of each bucket is twice the bound of the previous one.
package stages

import (
	"math/bits"
	"sync"
	"time"
)

// Stage is a part of the processing of a batch of commands.
type Stage uint8

// These are the stages. Receive applies to messages and comes before all others. Ready applies to
// tasks.
//
// In a shard with its own log, the stages Inbox, Decide, Apply, CommitWait, Commit and Reply follow
// one another. Together they are the time from the arrival of the oldest command until all answers
// are sent. In a replicated shard, Inbox, Decide, CommitWait, Commit and Reply follow one another;
// Replicate and Apply are parts of Commit.
const (
	// Receive is the time from the receipt of a message until its commands wait for their shards.
	// For a stream, it ends when the stream reads its next message. For a claim with completions,
	// it ends when the claim waits. For other calls, it ends when the call's command waits.
	Receive Stage = iota
	// Inbox is the time from the arrival of a batch's oldest command until the decision about the
	// batch starts.
	Inbox
	// Decide is the duration of the decision about one batch.
	Decide
	// CommitWait is the time that a batch waits before its commit: for earlier commits, or for room
	// in the Raft log.
	CommitWait
	// Commit is the time from the end of CommitWait until the batch is durable.
	Commit
	// Replicate is the time from the proposal of an entry until a majority has the entry and this
	// node is ready to apply it.
	Replicate
	// Apply is the time to write one batch, or the entries of one call from Raft, to the store.
	Apply
	// Reply is the time from the end of the commit until the last answer of the batch is sent.
	Reply
	// Ready is the time from the turn that enqueued a task until the turn that first leased it.
	// Tasks with a delay are not measured.
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

// boundsMax is the number of buckets with an upper bound. The bounds are 1 us, 2 us, 4 us and so
// on, up to 8.4 s.
const boundsMax = 24

// Bound returns the upper bound of a bucket.
func Bound(bucket int) time.Duration { return time.Microsecond << bucket }

// Times contains the histograms of one shard's stages. It is safe for concurrent use. The zero
// value is ready to use. One lock protects all stages of a batch: with atomic counters, recording a
// batch took three times as long.
type Times struct {
	mu sync.Mutex
	of [count]histogram
}

type histogram struct {
	counts [boundsMax + 1]uint64 // the last element counts times above all bounds
	sum    time.Duration
}

// Timed is a duration that was spent in a stage.
type Timed struct {
	Stage Stage
	Took  time.Duration
}

// Observe adds durations to the histograms of their stages.
func (t *Times) Observe(all ...Timed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range all {
		h := &t.of[o.Stage]
		h.counts[bucket(o.Took)]++
		h.sum += o.Took
	}
}

// ObserveSample adds a duration that represents n equal durations of the same stage.
func (t *Times) ObserveSample(o Timed, n uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := &t.of[o.Stage]
	h.counts[bucket(o.Took)] += n
	h.sum += o.Took * time.Duration(n)
}

// bucket returns the index of the first bucket whose bound is at least d.
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
	// Upto contains, for each bound, the number of durations that do not exceed the bound.
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

// Now returns the time of a monotonic clock of the process. It is always above 0. Now costs half as
// much CPU time as time.Now.
func Now() time.Duration { return max(1, time.Since(start)) }

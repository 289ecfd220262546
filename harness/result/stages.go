package result

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
)

// The stages of the servers' pipeline. The receive stage is measured for each message of a stream
// and for each unary call. A batch is the set of waiting commands that one goroutine decides
// together.
const (
	// StageReceive lasts from the receipt of a message until its commands wait for their shards.
	StageReceive = "receive"
	// StageInbox lasts from the arrival of a batch's oldest command until it is decided.
	StageInbox      = "inbox"
	StageDecide     = "decide"      // the decision of a batch
	StageCommitWait = "commit_wait" // behind earlier commits, or with Raft for room in the log
	StageCommit     = "commit"      // from the end of commit_wait until the batch is durable
	// StageReplicate is, with Raft, the part of commit before it is the entry's turn to be applied.
	StageReplicate = "replicate"
	StageApply     = "apply" // writing a batch to the store; with Raft a part of commit
	// StageReply lasts from the end of the commit until the last answer of the batch is sent.
	StageReply = "reply"
	// StageReady lasts from the turn that enqueues a task to the turn of its first lease. It is
	// measured only for tasks without a delay.
	StageReady = "ready"
)

// Stage contains the times of one stage of the servers' pipeline in a round's window, over all
// nodes and shards.
type Stage struct {
	Name string `json:"name"` // one of the Stage constants
	// Count is the number of batches. It is the number of messages for receive, of tasks for ready,
	// and, with Raft, of entries for replicate and apply.
	Count uint64  `json:"count"`
	SumMs float64 `json:"sum_ms"` // total of all of them
	// P50Ms and P99Ms are interpolated in the server's histogram, whose buckets double, so they are
	// accurate to a factor of two.
	P50Ms float64 `json:"p50_ms"`
	P99Ms float64 `json:"p99_ms"`
	// Buckets is that histogram. The upper bounds of the buckets are 1 us, 2 us, 4 us and so on;
	// the last bucket contains all longer times.
	Buckets []uint64 `json:"buckets,omitempty"`
}

// MeanMs returns the stage's mean time in milliseconds, or 0 without events.
func (s Stage) MeanMs() float64 {
	if s.Count == 0 {
		return 0
	}
	return s.SumMs / float64(s.Count)
}

// StageOf returns the stage with the given histogram.
func StageOf(name string, sumMs float64, buckets []uint64) Stage {
	s := Stage{Name: name, SumMs: sumMs, Buckets: slices.Clone(buckets)}
	for _, n := range buckets {
		s.Count += n
	}
	s.P50Ms, s.P99Ms = s.quantile(0.50), s.quantile(0.99)
	return s
}

// quantile returns the quantile q in milliseconds, interpolated linearly within its bucket. If it
// is in the last bucket, which has no upper bound, quantile returns that bucket's lower bound.
func (s Stage) quantile(q float64) float64 {
	rank, below, low := q*float64(s.Count), 0.0, 0.0
	high := 1e-3 // ms
	for i, n := range s.Buckets {
		if n > 0 && below+float64(n) >= rank {
			if i == len(s.Buckets)-1 {
				return low
			}
			return low + (high-low)*(rank-below)/float64(n)
		}
		below += float64(n)
		low, high = high, 2*high
	}
	return 0
}

// MergeStages adds up the stages of the timed rounds: it adds histograms and computes percentiles
// from the sums. The stages are in the order of their first occurrence.
func MergeStages(rounds []Round) []Stage {
	var merged []Stage
	for i := range rounds {
		if !rounds[i].Timed() {
			continue
		}
		for _, s := range rounds[i].Stages {
			k := slices.IndexFunc(merged, func(m Stage) bool { return m.Name == s.Name })
			if k < 0 {
				merged = append(merged, StageOf(s.Name, s.SumMs, s.Buckets))
				continue
			}
			sum := merged[k].Buckets
			for len(sum) < len(s.Buckets) {
				sum = append(sum, 0)
			}
			for b, n := range s.Buckets {
				sum[b] += n
			}
			merged[k] = StageOf(s.Name, merged[k].SumMs+s.SumMs, sum)
		}
	}
	return merged
}

// Covering is a length of time and the number of cycles that were completed in it.
type Covering struct {
	Cycles  uint64  `json:"cycles"`
	Seconds float64 `json:"seconds"`
}

// StagesCover returns the total time and the total cycles during which the stages were recorded. It
// adds up the rounds that have stages; for a round without StagesOf it uses the window.
func StagesCover(rounds []Round) (all Covering) {
	for i := range rounds {
		r := &rounds[i]
		of := Covering{r.Cycles, r.WindowSeconds}
		if r.StagesOf != nil {
			of = *r.StagesOf
		}
		if len(r.Stages) > 0 {
			all.Cycles, all.Seconds = all.Cycles+of.Cycles, all.Seconds+of.Seconds
		}
	}
	return all
}

// Budget splits the time of a shard's deciding goroutine, through which all commands pass. The
// throughput of the goroutine is
//
//	cycles a batch / (rest + decide + apply)
//
// because it processes one batch at a time. With Raft the apply term is absent, because other
// goroutines apply the entries.
type Budget struct {
	CyclesPerBatch float64 `json:"cycles_per_batch"`
	// RestUs is the time between two batches: waiting for commands, for a CPU, or for room in the
	// stages behind it.
	RestUs   float64 `json:"rest_us"`
	DecideUs float64 `json:"decide_us"`
	ApplyUs  float64 `json:"apply_us"`
	PerS     float64 `json:"per_s"` // cycles per second of all shards
}

// BudgetOf returns the budget of windows with the given total seconds and cycles. ok is false if
// the stages do not contain enough data to compute the budget.
func BudgetOf(stages []Stage, cycles uint64, seconds float64, shards int) (b Budget, ok bool) {
	var decide, apply, replicate Stage
	for _, s := range stages {
		switch s.Name {
		case StageDecide:
			decide = s
		case StageApply:
			apply = s
		case StageReplicate:
			replicate = s
		}
	}
	if decide.Count == 0 || cycles == 0 || seconds <= 0 || shards < 1 {
		return b, false
	}
	batches := float64(decide.Count)
	b = Budget{CyclesPerBatch: float64(cycles) / batches, DecideUs: 1e3 * decide.MeanMs(), PerS: float64(cycles) / seconds}
	if replicate.Count == 0 {
		b.ApplyUs = 1e3 * apply.SumMs / batches
	}
	b.RestUs = max(0, 1e6*seconds*float64(shards)/batches-b.DecideUs-b.ApplyUs)
	return b, true
}

// String formats the budget as an equation of measured terms.
func (b Budget) String() string {
	apply := ""
	if b.ApplyUs > 0 {
		apply = " + " + render.Number(b.ApplyUs) + " µs apply"
	}
	return fmt.Sprintf("%s cycles/s = %s cycles a batch / (%s µs rest + %s µs decide%s)",
		render.Number(b.PerS), render.Number(b.CyclesPerBatch), render.Number(b.RestUs), render.Number(b.DecideUs), apply)
}

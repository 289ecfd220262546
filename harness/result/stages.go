package result

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
)

// The stages of the servers' pipeline. Receive is of messages of streams and of calls. A batch is what one goroutine decides at once: whatever waited.
const (
	StageReceive    = "receive"     // from the receipt of a message until its commands wait for their shards
	StageInbox      = "inbox"       // from the arrival of a batch's oldest command until it is decided
	StageDecide     = "decide"      // the decision of a batch
	StageCommitWait = "commit_wait" // behind the commits before it, or with Raft for room in the log
	StageCommit     = "commit"      // from then until the batch is durable
	StageReplicate  = "replicate"   // with Raft, a part of commit: until it is an entry's turn to be applied
	StageApply      = "apply"       // writing a batch to the store; with Raft a part of commit
	StageReply      = "reply"       // from the end of the commit until the last answer of the batch is handed out
	StageReady      = "ready"       // of tasks without a delay: from the turn that enqueued one until the turn that leased it first
)

// Stage is how long one stage of the servers' pipeline took in a round's window, over all nodes and shards.
type Stage struct {
	Name  string  `json:"name"`   // one of the constants
	Count uint64  `json:"count"`  // the batches that passed it; of receive messages; of ready tasks; of replicate and apply with Raft, entries
	SumMs float64 `json:"sum_ms"` // of all of them together
	// P50Ms and P99Ms are interpolated in the server's histogram, whose buckets double: they are good to a factor of two.
	P50Ms float64 `json:"p50_ms"`
	P99Ms float64 `json:"p99_ms"`
	// Buckets are that histogram: how many took at most 1 us, then more than that and at most 2 us, 4 us and so on; the last
	// one is of all longer ones.
	Buckets []uint64 `json:"buckets,omitempty"`
}

// MeanMs is the stage's mean time in milliseconds; 0 where nothing passed it.
func (s Stage) MeanMs() float64 {
	if s.Count == 0 {
		return 0
	}
	return s.SumMs / float64(s.Count)
}

// StageOf makes a stage of its histogram.
func StageOf(name string, sumMs float64, buckets []uint64) Stage {
	s := Stage{Name: name, SumMs: sumMs, Buckets: slices.Clone(buckets)}
	for _, n := range buckets {
		s.Count += n
	}
	s.P50Ms, s.P99Ms = s.quantile(0.50), s.quantile(0.99)
	return s
}

// quantile interpolates in the bucket that the part q of all values ends in. Of what is beyond all bounds the last bound
// is returned.
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

// MergeStages adds up the stages of the timed rounds among these: histograms are added, percentiles are those of the sum.
// The order is that of the first round that has the stage.
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

// StagesCover returns the time and the cycles that the stages of rounds were counted over, added up over the rounds that have stages. A round
// without StagesOf counts with its window.
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

// Budget is where the time of a shard's deciding goroutine goes, which all commands pass: its throughput is
//
//	cycles a batch / (rest + decide + apply)
//
// since it does one batch at a time. With Raft there is no apply in it: others do that.
type Budget struct {
	CyclesPerBatch float64 `json:"cycles_per_batch"`
	RestUs         float64 `json:"rest_us"` // between two batches: it waits for commands, for a CPU, or for room behind it
	DecideUs       float64 `json:"decide_us"`
	ApplyUs        float64 `json:"apply_us"`
	PerS           float64 `json:"per_s"` // cycles, of all shards
}

// BudgetOf works out the budget of windows of so many seconds and cycles together. False says that the stages don't tell.
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

// String writes the budget as an equation of measured terms.
func (b Budget) String() string {
	apply := ""
	if b.ApplyUs > 0 {
		apply = " + " + render.Number(b.ApplyUs) + " µs apply"
	}
	return fmt.Sprintf("%s cycles/s = %s cycles a batch / (%s µs rest + %s µs decide%s)",
		render.Number(b.PerS), render.Number(b.CyclesPerBatch), render.Number(b.RestUs), render.Number(b.DecideUs), apply)
}

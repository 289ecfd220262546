package result

import (
	"maps"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/scenario"
)

// Reads counts the reads of one kind that were answered inside the window: answered = found + gone
// + unended + foreign + wrong.
type Reads struct {
	Answered uint64 `json:"answered"`
	// Found counts successful reads by the own tenant: gets that returned the task, lists that
	// returned a task, answers with a queue's figures, and awaits that ended with the task's
	// completion.
	Found uint64 `json:"found"`
	// Gone counts answers without a task: the completion of the task had been requested before, or
	// the list was empty.
	Gone    uint64 `json:"gone"`
	Foreign uint64 `json:"foreign"` // reads of another tenant's task or queue, all refused
	// ForeignStored counts the foreign reads whose task existed, so that the refusal is
	// significant.
	ForeignStored uint64 `json:"foreign_stored"`
	// Wrong counts wrong answers in the window; the ledger counts those of the whole round.
	Wrong uint64 `json:"wrong"`
	// Dropped counts reads that were due inside the window but not made, because too many reads
	// were waiting.
	Dropped uint64 `json:"dropped"`
	// Refused counts reads that the server refused because it was out of capacity.
	Refused uint64 `json:"refused"`
	Unended uint64 `json:"unended,omitempty"` // awaits that timed out before the task ended
	Tasks   uint64 `json:"tasks,omitempty"`   // in all lists together
	// Mismatches counts the wrong answers over the whole round, including warm-up.
	Mismatches uint64 `json:"mismatches,omitempty"`
}

// Add adds the reads of another workload.
func (r *Reads) Add(other Reads) {
	r.Answered += other.Answered
	r.Found += other.Found
	r.Gone += other.Gone
	r.Foreign += other.Foreign
	r.ForeignStored += other.ForeignStored
	r.Wrong += other.Wrong
	r.Dropped += other.Dropped
	r.Refused += other.Refused
	r.Unended += other.Unended
	r.Tasks += other.Tasks
	r.Mismatches += other.Mismatches
}

// AddReads adds reads of a kind to the accounts by kind, with gets separate, and returns the
// updated accounts.
func AddReads(gets *Reads, others map[string]Reads, kind string, more Reads) (*Reads, map[string]Reads) {
	if kind == scenario.ReadGet {
		if gets == nil {
			gets = &Reads{}
		}
		gets.Add(more)
		return gets, others
	}
	if others == nil {
		others = map[string]Reads{}
	}
	sum := others[kind]
	sum.Add(more)
	others[kind] = sum
	return gets, others
}

// kindOfReads contains the part, metrics and histogram of a kind of reads.
type kindOfReads struct {
	part                 Part
	perS, ratio, dropped string // metrics; ratio is "" for a kind without a ratio
	histogram            string // name of the histogram
}

var kindsOfReads = map[string]kindOfReads{
	scenario.ReadGet:   {OfReads, ReadsPerS, ReadFoundRatio, ReadsDropped, "read"},
	scenario.ReadList:  {OfLists, ListsPerS, "", ListsDropped, "list"},
	scenario.ReadStats: {OfStats, StatsPerS, "", StatsDropped, "stats"},
	scenario.ReadAwait: {OfAwaits, AwaitsPerS, AwaitEndedRatio, AwaitsDropped, "await"},
}

// PartOfReads returns the part of a kind of reads.
func PartOfReads(kind string) Part { return kindsOfReads[kind].part }

// SetRead sets the latencies of a kind of reads.
func (h *Histograms) SetRead(kind string, of *hdrhistogram.Histogram) {
	*h.field(kindsOfReads[kind].histogram) = of
}

func readMetrics(gets *Reads, others map[string]Reads, windowSeconds float64) map[string]float64 {
	metrics := map[string]float64{}
	if gets != nil {
		maps.Copy(metrics, gets.metrics(kindsOfReads[scenario.ReadGet], windowSeconds))
	}
	for kind, reads := range others {
		if of, known := kindsOfReads[kind]; known {
			maps.Copy(metrics, reads.metrics(of, windowSeconds))
		}
	}
	return metrics
}

// metrics returns the metrics of reads of one kind in a window of the given length. It omits the
// ratio if no read of an own task was answered, and the rate if no read was answered.
func (r *Reads) metrics(of kindOfReads, windowSeconds float64) map[string]float64 {
	metrics := map[string]float64{of.dropped: float64(r.Dropped)}
	if windowSeconds > 0 && r.Answered > 0 {
		metrics[of.perS] = float64(r.Answered) / windowSeconds
	}
	if own := r.Found + r.Gone + r.Unended; own > 0 && of.ratio != "" {
		metrics[of.ratio] = float64(r.Found) / float64(own)
	}
	return metrics
}

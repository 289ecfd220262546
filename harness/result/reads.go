package result

import (
	"maps"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/scenario"
)

// Reads is the account of the reads of one kind that were answered inside the window: answered = found + gone + unended + foreign + wrong.
type Reads struct {
	Answered uint64 `json:"answered"`
	// Found are reads by the own tenant that were answered with the task; lists with a task; figures of a queue; and awaits that ended with the
	// task's completion.
	Found   uint64 `json:"found"`
	Gone    uint64 `json:"gone"`    // without it: a completion of the task had been asked for, or a list has no task
	Foreign uint64 `json:"foreign"` // of another tenant's task or queue, and refused
	// ForeignStored are those of the foreign reads whose task was there, for which the refusal is telling.
	ForeignStored uint64 `json:"foreign_stored"`
	Wrong         uint64 `json:"wrong"`             // judged a misread, as the ledger counts over the whole round
	Dropped       uint64 `json:"dropped"`           // due inside the window and not made, since too many waited
	Refused       uint64 `json:"refused"`           // refused since the server had no room
	Unended       uint64 `json:"unended,omitempty"` // awaits whose time was over before the task had ended
	Tasks         uint64 `json:"tasks,omitempty"`   // in all lists together
	// Mismatches are those judged a misread over the whole round, warm-up included.
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

// AddReads adds reads of a kind to accounts by kind, gets apart. It returns the accounts with the reads.
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

// kindOfReads is what belongs to a kind of reads.
type kindOfReads struct {
	part                 Part
	perS, ratio, dropped string // metrics; ratio is "" of a kind without
	histogram            string // its name
}

// kindsOfReads are those of each kind.
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

// readMetrics returns the metrics of reads in a window of so many seconds.
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

// metrics returns those of reads of a kind in a window of so many seconds. Without a read of an own task there is no ratio, and without any no
// rate.
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

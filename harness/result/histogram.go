package result

import (
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of recorded latencies. The error of a latency is at most 1 % or 0.5 µs, whichever is
// larger. At this precision a histogram takes 22 KB, little enough for one per goroutine of a load.
const (
	LatencyLowest  = time.Microsecond
	LatencyHighest = time.Minute

	latencyDigits = 2
)

// NewHistogram returns an empty latency histogram in nanoseconds. Histograms of several goroutines
// or rounds can be merged. RecordValue fails for more than LatencyHighest; the recorder must then
// clamp or fail, never drop the value.
func NewHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(LatencyLowest), int64(LatencyHighest), latencyDigits)
}

// Histograms are the latencies of one round's window, in nanoseconds. In an open load, the
// latencies of the enqueue and of the cycle start at the due time of the task.
type Histograms struct {
	Enqueue *hdrhistogram.Histogram // from the call of enqueue to its acknowledgement
	Settle  *hdrhistogram.Histogram // from the claim to the acknowledged settle
	Cycle   *hdrhistogram.Histogram // from the call of enqueue to the acknowledged completion

	// Only for an open load; otherwise nil.
	Service *hdrhistogram.Histogram // from the call of enqueue to its acknowledgement
	// Slip is the delay from the earliest time at which the generator could send a task until it
	// sent the task.
	Slip *hdrhistogram.Histogram

	// The service time of each kind of read, from the call to the answer; nil if the load has no
	// reads of the kind.
	Read  *hdrhistogram.Histogram // of one task
	List  *hdrhistogram.Histogram // of the tasks of a queue
	Stats *hdrhistogram.Histogram // of the figures of a queue
	Await *hdrhistogram.Histogram // of the end of a task

	// Late is the time from the end of a task's delay to the first claim of the task; nil if the
	// load delays no tasks.
	Late *hdrhistogram.Histogram
	// Extend is the time from the call that extends a lease to its acknowledgement; nil if the load
	// extends no leases.
	Extend *hdrhistogram.Histogram
	// Cancel is the time from the call that cancels a leased task to the notice at its worker; nil if
	// the load cancels no tasks.
	Cancel *hdrhistogram.Histogram
	// Recurring is the time from the due time of a recurring task to the arrival of its task at a
	// worker; nil without recurring tasks.
	Recurring *hdrhistogram.Histogram
}

// NewHistograms returns the three histograms of a closed load, empty.
func NewHistograms() Histograms {
	return Histograms{Enqueue: NewHistogram(), Settle: NewHistogram(), Cycle: NewHistogram()}
}

// RoundHistograms are the histograms of one round.
type RoundHistograms struct {
	Round int
	Histograms
	// Workloads are the histograms of each workload of a scenario with several; Histograms contains
	// the latencies of all of them.
	Workloads []WorkloadHistograms
}

// Kind is one of the histograms with its name.
type Kind struct {
	// "enqueue", "settle", "cycle", "service", "slip", "read", "list", "stats", "await", "late",
	// "extend", "cancel" or "recurring".
	Name      string
	Family    string // the latency family of its metrics
	Histogram *hdrhistogram.Histogram
}

// Kinds returns the histograms of enqueue, settle and cycle, which every load has, followed by the
// others that are not nil. The order is always the same.
func (h Histograms) Kinds() []Kind {
	kinds := []Kind{
		{"enqueue", EnqueueLatencyMs, h.Enqueue},
		{"settle", SettleLatencyMs, h.Settle},
		{"cycle", CycleLatencyMs, h.Cycle},
	}
	for _, kind := range []Kind{
		{"service", ServiceLatencyMs, h.Service},
		{"slip", SlipMs, h.Slip},
		{"read", ReadLatencyMs, h.Read},
		{"list", ListLatencyMs, h.List},
		{"stats", StatsLatencyMs, h.Stats},
		{"await", AwaitLatencyMs, h.Await},
		{"late", LateMs, h.Late},
		{"extend", ExtendLatencyMs, h.Extend},
		{"cancel", CancelNoticeMs, h.Cancel},
		{"recurring", RecurringLateMs, h.Recurring},
	} {
		if kind.Histogram != nil {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// field returns the address of the histogram of the given name, or nil for an unknown name.
func (h *Histograms) field(name string) **hdrhistogram.Histogram {
	switch name {
	case "enqueue":
		return &h.Enqueue
	case "settle":
		return &h.Settle
	case "cycle":
		return &h.Cycle
	case "service":
		return &h.Service
	case "slip":
		return &h.Slip
	case "read":
		return &h.Read
	case "list":
		return &h.List
	case "stats":
		return &h.Stats
	case "await":
		return &h.Await
	case "late":
		return &h.Late
	case "extend":
		return &h.Extend
	case "cancel":
		return &h.Cancel
	case "recurring":
		return &h.Recurring
	}
	return nil
}

// Merge adds up histograms of several rounds into new ones. All rounds must have the same
// histograms. Merge fails if a value does not fit into the range of the first round's histogram, so
// it never drops a sample.
func Merge(rounds ...Histograms) (Histograms, error) {
	if len(rounds) == 0 {
		return Histograms{}, errors.New("no histograms to merge")
	}
	for _, round := range rounds[1:] {
		if n, first := len(round.Kinds()), len(rounds[0].Kinds()); n != first {
			return Histograms{}, fmt.Errorf("a round has %d histograms where the first has %d", n, first)
		}
	}
	merged, err := Union(rounds...)
	if err == nil && len(merged.Kinds()) != len(rounds[0].Kinds()) {
		err = errors.New("the rounds have different histograms")
	}
	return merged, err
}

// Union adds up histograms, such as those of concurrent workloads, into new ones. The result has a
// histogram of each kind that at least one argument has.
func Union(all ...Histograms) (Histograms, error) {
	var sum Histograms
	for _, h := range all {
		for _, kind := range h.Kinds() {
			if kind.Histogram == nil {
				return Histograms{}, fmt.Errorf("the %s histogram is missing", kind.Name)
			}
			into := sum.field(kind.Name)
			if *into == nil {
				*into = kind.Histogram.Clone()
				continue
			}
			if dropped := (*into).Merge(kind.Histogram); dropped > 0 {
				return Histograms{}, fmt.Errorf("merging the %s histograms would drop %d samples: their ranges differ", kind.Name, dropped)
			}
		}
	}
	return sum, nil
}

// LatencyMetrics returns the latency metrics of h in milliseconds, and the sample counts. A
// histogram without samples has a count of 0 and no percentiles: a latency that was not measured is
// missing, not zero.
func LatencyMetrics(h Histograms) map[string]float64 {
	metrics := make(map[string]float64)
	for _, kind := range h.Kinds() {
		if kind.Histogram == nil {
			continue
		}
		n := kind.Histogram.TotalCount()
		metrics[kind.Family+"_n"] = float64(n)
		if n == 0 {
			continue
		}
		for _, p := range percentiles {
			metrics[kind.Family+p.suffix] = milliseconds(kind.Histogram.ValueAtPercentile(p.percent))
		}
		metrics[kind.Family+"_max"] = milliseconds(kind.Histogram.Max())
	}
	return metrics
}

func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

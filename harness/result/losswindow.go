package result

import (
	"cmp"
	"math"
	"slices"
)

// LossWindow is the window of loss in a round's window: the enqueues and completions that a server
// had already acknowledged, but that no fsync had made durable yet. A power failure would have lost
// them. Between two fsyncs the window of loss only grows. It is therefore sufficient to record its
// peaks just before each fsync, and what is not yet durable at the end.
type LossWindow struct {
	// Tasks are the peaks of the number of enqueues and completions. A peak before an fsync is of
	// one shard; the one at the end is of all shards of a server.
	Tasks Peaks `json:"tasks"`
	// Ms are the peaks of the age of the oldest of these acknowledgements, in milliseconds.
	Ms Peaks `json:"ms"`
}

// Peaks is a histogram of peak values. The bounds of its buckets are those of the servers'
// histogram.
type Peaks struct {
	Count uint64  `json:"count"`
	P99   float64 `json:"p99"` // upper bound of 99 of 100 values
	// Max is the upper bound of all values. Only if it is the last bound of the histogram may
	// values exceed it.
	Max float64 `json:"max"`
	Of  []Peak  `json:"of"` // in the order of their bounds
}

// Peak counts the values above the bound of the previous Peak and up to UpTo.
type Peak struct {
	UpTo  float64 `json:"up_to"`
	Count uint64  `json:"count"`
}

// PeaksOf returns the peaks of counts, which may be in any order and repeat a bound.
func PeaksOf(counts []Peak) Peaks {
	sorted := slices.SortedFunc(slices.Values(counts), func(a, b Peak) int { return cmp.Compare(a.UpTo, b.UpTo) })
	var p Peaks
	for _, c := range sorted {
		if c.Count == 0 {
			continue
		}
		p.Count, p.Max = p.Count+c.Count, c.UpTo
		if n := len(p.Of); n > 0 && p.Of[n-1].UpTo == c.UpTo {
			p.Of[n-1].Count += c.Count
		} else {
			p.Of = append(p.Of, c)
		}
	}
	rank, below := uint64(math.Ceil(0.99*float64(p.Count))), uint64(0)
	for _, c := range p.Of {
		if below += c.Count; below >= rank {
			p.P99 = c.UpTo
			break
		}
	}
	return p
}

func (l LossWindow) metrics() map[string]float64 {
	return map[string]float64{
		UnsyncedTasksP99: l.Tasks.P99, UnsyncedTasksMax: l.Tasks.Max,
		UnsyncedMsP99: l.Ms.P99, UnsyncedMsMax: l.Ms.Max,
	}
}

func mergeLossWindows(rounds []Round) LossWindow {
	var tasks, ms []Peak
	for _, r := range rounds {
		if l := r.LossWindow; l != nil {
			tasks, ms = append(tasks, l.Tasks.Of...), append(ms, l.Ms.Of...)
		}
	}
	return LossWindow{Tasks: PeaksOf(tasks), Ms: PeaksOf(ms)}
}

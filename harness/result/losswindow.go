package result

import (
	"cmp"
	"math"
	"slices"
)

// LossWindow is the window of loss in a round's window: the enqueues and completions that a server
// acknowledged before an fsync covered them. A power failure would have lost them. Between two
// fsyncs the window of loss only grows, so the peaks just before the fsyncs and the rest at the end
// suffice.
type LossWindow struct {
	// Tasks are the peaks in enqueues and completions, each of one shard; the rest at the end is of
	// all shards of a server.
	Tasks Peaks `json:"tasks"`
	// Ms are the peaks of the age of the oldest of these acknowledgements, in milliseconds.
	Ms Peaks `json:"ms"`
}

// Peaks are values whose maxima matter, each known up to a bound of the servers' histogram.
type Peaks struct {
	Count uint64  `json:"count"`
	P99   float64 `json:"p99"` // upper bound of 99 of 100 values
	// Max is the upper bound of all values, unless it is the last bound of the histogram.
	Max float64 `json:"max"`
	Of  []Peak  `json:"of"` // in the order of their bounds
}

// Peak counts the values between the bound of the previous peak and its own.
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

// mergeLossWindows combines the peaks of the rounds that have any.
func mergeLossWindows(rounds []Round) LossWindow {
	var tasks, ms []Peak
	for _, r := range rounds {
		if l := r.LossWindow; l != nil {
			tasks, ms = append(tasks, l.Tasks.Of...), append(ms, l.Ms.Of...)
		}
	}
	return LossWindow{Tasks: PeaksOf(tasks), Ms: PeaksOf(ms)}
}

package result

import (
	"errors"
	"maps"
)

// deriveParts sets the metrics of the optional parts of the round: an open load, reads, tenants, a
// backlog, faults, turns, a window of loss and a series.
func (r *Round) deriveParts() {
	if a := r.Arrivals; a != nil {
		maps.Copy(r.Metrics, a.metrics())
	}
	maps.Copy(r.Metrics, readMetrics(r.Reads, r.OtherReads, r.WindowSeconds))
	if s := r.TenantShares; s != nil {
		maps.Copy(r.Metrics, s.metrics())
	}
	if b := r.Backlog; b != nil {
		r.deriveBacklog(b)
	}
	r.deriveFaults()
	if t := r.Turns; t != nil {
		maps.Copy(r.Metrics, t.metrics())
	}
	if l := r.LossWindow; l != nil {
		maps.Copy(r.Metrics, l.metrics())
	}
	if len(r.Series) > 0 {
		last := r.Series[len(r.Series)-1]
		r.Metrics[DiskMBEnd] = last.DiskMB
		for _, s := range r.Series {
			r.Metrics[DiskMBMax] = max(r.Metrics[DiskMBMax], s.DiskMB)
		}
		if ratio, err := SteadyRatio(r.Series); err == nil {
			r.Metrics[SteadyRateRatio] = ratio
		}
		if d, err := Decay([]Round{*r}); err == nil {
			r.Metrics[DecayPercent] = d.Median
		}
	}
}

func (a *Arrivals) metrics() map[string]float64 {
	return map[string]float64{
		OfferedPerS: a.PerSecond,
		Unfinished:  float64(a.Unfinished),
		Unsent:      float64(a.Unsent),
		Dropped:     float64(a.Dropped),
		Held:        float64(a.Held),
	}
}

func (r *Round) deriveBacklog(b *Backlog) {
	r.Metrics[BacklogRSSMBMax] = max(b.RSSMBFillMax, b.RSSMBDrainMax)
	r.Metrics[ServerRSSMBMax] = max(r.Metrics[ServerRSSMBMax], r.Metrics[BacklogRSSMBMax])
	if b.FillS > 0 {
		r.Metrics[FillTasksPerS] = float64(b.Tasks) / b.FillS
	}
	if b.DrainS > 0 && b.Cycles > 0 {
		r.Metrics[DrainCyclesPerS] = float64(b.Cycles) / b.DrainS
		if reference := r.Metrics[CyclesPerS]; reference > 0 {
			r.Metrics[DrainRatio] = r.Metrics[DrainCyclesPerS] / reference
		}
		if b.ReferenceTasks > 0 && b.ReferenceDrainS > 0 {
			small := float64(b.ReferenceTasks) / b.ReferenceDrainS
			r.Metrics[DrainSmallRatio] = r.Metrics[DrainCyclesPerS] / small
		}
	}
	if b.Restart != "none" && b.FirstClaimS > 0 {
		r.Metrics[RestartFirstClaimS] = b.FirstClaimS
	}
}

// steadyParts is the number of parts that SteadyRatio divides a window into.
const steadyParts = 10

// SteadyRatio returns the rate of a series in its last tenth divided by the rate in its second
// tenth. This is the share of the rate that remains at the end of the window. It skips the first
// tenth, where a server may still warm up. It fails if the series cannot be divided into ten equal
// parts, or if the second tenth has no cycles.
func SteadyRatio(series []Sample) (float64, error) {
	n := len(series) / steadyParts
	if n == 0 || len(series)%steadyParts != 0 {
		return 0, errors.New("steady ratio: the series can't be divided into ten parts")
	}
	second, last := rate(series, n, 2*n), rate(series, len(series)-n, len(series))
	if second <= 0 {
		return 0, errors.New("steady ratio: no cycle was completed in the second tenth")
	}
	return last / second, nil
}

// rate returns the mean rate of the intervals series[from:to], weighted by their lengths.
func rate(series []Sample, from, to int) float64 {
	var cycles, seconds float64
	for i := from; i < to; i++ {
		length := series[i].AtS
		if i > 0 {
			length -= series[i-1].AtS
		}
		cycles += series[i].CyclesPerS * length
		seconds += length
	}
	if seconds <= 0 {
		return 0
	}
	return cycles / seconds
}

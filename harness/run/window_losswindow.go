package run

import (
	"fmt"
	"math"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

const (
	unsyncedTasksGauge = "prony_unsynced_tasks"
	lossTasksHistogram = "prony_loss_window_tasks"
	lossAgeHistogram   = "prony_loss_window_seconds"
)

// lossWindow adds the window of loss of the servers that were up at the end of the window: the
// tasks that were acknowledged and not yet synced. It skips servers that do not export this figure.
func (c *counters) lossWindow(m *measured) {
	var tasks, ms []result.Peak
	for _, s := range c.servers {
		left, counts := s.countersAfter[unsyncedTasksGauge]
		if !counts {
			// an older build, or a server that was down, about which there is another warning
			continue
		}
		age := s.countersAfter[observe.UnsyncedSeconds]
		for histogram, into := range map[string]*[]result.Peak{lossTasksHistogram: &tasks, lossAgeHistogram: &ms} {
			grown, err := s.metricsAfter.Histograms[histogram].Since(s.metricsBefore.Histograms[histogram])
			if err != nil {
				m.warnings = append(m.warnings, fmt.Sprintf("round %d: the window of loss is missing: %v", m.round.Number, err))
				return
			}
			*into = append(*into, peaksOf(grown, histogram == lossAgeHistogram)...)
		}
		tasks, ms = append(tasks, result.Peak{UpTo: left, Count: 1}), append(ms, result.Peak{UpTo: 1e3 * age, Count: 1})
	}
	if len(tasks) > 0 {
		m.round.LossWindow = &result.LossWindow{Tasks: result.PeaksOf(tasks), Ms: result.PeaksOf(ms)}
	}
}

// peaksOf returns the peaks that a histogram counts. If they are in seconds, it converts them to
// milliseconds. A peak above all bounds is reported as the highest finite bound.
func peaksOf(b observe.Buckets, seconds bool) (peaks []result.Peak) {
	last := 0.0
	for _, bucket := range b {
		if !math.IsInf(bucket.Upper, 1) {
			last = bucket.Upper
		}
		upTo := last
		if seconds {
			upTo *= 1e3
		}
		peaks = append(peaks, result.Peak{UpTo: upTo, Count: bucket.Count})
	}
	return peaks
}

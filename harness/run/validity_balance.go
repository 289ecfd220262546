package run

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
	"github.com/pronybench/prony/harness/validity"
)

// balances reports for each closed workload whether its workers kept up with its producers in the
// window. A workload that only enqueues or only claims has no balance. An open workload needs no
// balance: its latency is measured from the intended start and therefore includes any wait.
// Workloads with too few samples are ignored.
func (s *steadiness) balances(workloads []scenario.Workload) (all []result.Balance) {
	if s == nil || s.window == nil {
		return nil
	}
	for i, w := range workloads {
		if w.Arrivals.Kind != scenario.Closed || w.Producers == 0 || w.Workers == 0 {
			continue
		}
		outstanding := s.window.outstandingOf(i)
		trend, err := stat.FindTrend(outstanding)
		if err != nil { // too few samples, or most of them are 0
			continue
		}
		all = append(all, result.Balance{
			Workload: w.Name, Held: float64(w.HeldMax()), Outstanding: trend.Median, Growth: trend.Rise, PValue: trend.P,
		})
	}
	return all
}

// outstandingOf returns the number of outstanding tasks of the workload with the given index at the
// end of each part. Parts with an unknown number are skipped.
func (s *rateSeries) outstandingOf(workload int) (values []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.counts[1:] {
		if workload < len(at.outstanding) {
			values = append(values, at.outstanding[workload])
		}
	}
	return values
}

func judgeBalances(j *validity.Judgement, balances []result.Balance, v scenario.Validity) {
	for _, b := range balances {
		if b.PValue >= stat.TrendAlpha {
			continue
		}
		of := ""
		if len(balances) > 1 {
			of = "workload " + b.Workload + ": "
		}
		j.Add("backlog_growth_percent_max", b.GrowthPercent(), v, " %", func(shown string) string {
			return fmt.Sprintf(
				"%sthe backlog grew by %s tasks over the window, %s of the %s that producers and workers can hold simultaneously, so cycle latency measured "+
					"the queue's length: set in_flight, add workers, lower producers, or make the load open", of, render.Digits(b.Growth, 3), shown, render.Digits(b.Held, 3))
		})
	}
}

// warnOfBacklogs adds a warning for each closed workload that had a backlog during most of the
// window, unless the scenario bounds the backlog with in_flight.
func (m *measured) warnOfBacklogs(workloads []scenario.Workload) {
	for _, b := range m.round.Balances {
		bounded := slices.ContainsFunc(workloads, func(w scenario.Workload) bool { return w.Name == b.Workload && w.InFlight > 0 })
		if bounded || b.Outstanding <= b.Held {
			continue
		}
		m.warnings = append(m.warnings, fmt.Sprintf(
			"round %d: workload %s had %s tasks outstanding, but its producers and workers can hold only %s simultaneously: cycle latency includes the wait in that queue; "+
				"in_flight bounds it", m.round.Number, b.Workload, render.Digits(b.Outstanding, 3), render.Digits(b.Held, 3)))
	}
}

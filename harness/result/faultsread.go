package result

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/scenario"
)

// formerShare is RecoveredShare of results that do not name it. They measured recoveries against the rate before the first fault.
const formerShare = 0.95

// formerFaultsUnrecovered is the former name of FaultsNotRecovered.
const formerFaultsUnrecovered = "faults_unrecovered"

// correctFaults gives a stored result with faults the figures that this build would have derived from its samples. Earlier builds
// counted the time to the next fault as the time of a recovery that never came, passed a load that came back to a lower rate after
// each fault, and divided what the last process of a server had counted by all cycles of the window.
func (r *Result) correctFaults() {
	corrected := false
	for i := range r.Rounds {
		round := &r.Rounds[i]
		if f := round.Faults; f == nil || f.RecoveredShare != 0 || len(f.Events) == 0 || round.Metrics == nil {
			continue
		}
		corrected = true
		round.Faults.nameReferences()
		for _, name := range []string{formerFaultsUnrecovered, FaultRecoveryMsMedian, FaultRecoveryMsMax} {
			delete(round.Metrics, name)
		}
		round.deriveFaults()
		round.dropPartialCounters()
		if decay := round.Faults.Decay(); decay != "" {
			round.Verdict, round.Reasons = Worst(round.Verdict, Regressed), append(round.Reasons, decay)
			r.Verdict, r.Reasons = Worst(r.Verdict, Regressed), append(r.Reasons, fmt.Sprintf("round %d: %s", round.Number, decay))
		}
	}
	if corrected && len(r.Points) == 0 && r.Metrics != nil {
		r.correctMetrics()
	}
}

// nameReferences fills in what results of earlier builds do not say of their faults.
func (f *Faults) nameReferences() {
	f.RecoveredShare = formerShare
	for i := range f.Events {
		e := &f.Events[i]
		e.BeforePerS, e.LevelPerS = f.BaselinePerS, e.AfterPerS
	}
}

// dropPartialCounters removes the totals of counters of servers whose process a fault ended, since the counts of that process are
// lost, and the totals over servers with such a server among them.
func (r *Round) dropPartialCounters() {
	var ended []string
	for _, e := range r.Faults.Events {
		if scenario.EndsProcess(e.Kind) {
			ended = append(ended, e.Nodes...)
		}
	}
	if len(ended) == 0 {
		return
	}
	maps.DeleteFunc(r.Metrics, func(name string, _ float64) bool { return totalOfCounters(name) })
	for _, n := range r.Nodes {
		if slices.Contains(ended, n.ID) {
			maps.DeleteFunc(n.Metrics, func(name string, _ float64) bool { return totalOfCounters(name) })
		}
	}
}

// totalOfCounters reports whether a metric is what servers counted from the window's start to its end.
func totalOfCounters(name string) bool {
	switch name {
	case RaftEntriesPerCycle, RaftLogBytesPerCycle, RaftElections:
		return true
	}
	spec, known := Lookup(name)
	return known && (spec.Part == OfStorage || spec.Part == OfRuntime)
}

// correctMetrics brings the metrics of a run in line with those of its rounds, where correctFaults has changed those.
func (r *Result) correctMetrics() {
	delete(r.Metrics, formerFaultsUnrecovered)
	timed := timedOf(r.Rounds)
	// A metric that cannot be summarised is missing, as it is from Summarise.
	found, _ := summariseTimed(timed, nil, func(spec Spec) bool { return spec.Part == OfFaults })
	maps.DeleteFunc(r.Metrics, func(name string, _ Metric) bool {
		spec, _ := Lookup(name)
		return spec.Part == OfFaults || totalOfCounters(name) && len(having(name, timed)) == 0
	})
	maps.Copy(r.Metrics, found)
}

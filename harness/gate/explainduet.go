package gate

import (
	"errors"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// CauseGenerations is the number of profiled generations that a search for causes needs. With six,
// the search finds a function that takes an additional 5 % of the servers' CPU time in nine of ten
// cases.
const CauseGenerations = 6

// causesAlpha is the probability that the interval of any examined candidate misses the true
// difference.
const causesAlpha = 0.05

// ExplainDuet sets in c the differences between the profiles of a duet's sides. If the change
// regressed, it also sets the causes and the parameters of the search. base and change contain the
// generations and profiles of the sides.
//
// A cause explains at least a third of the detected loss of CPU time or of the rate. If only a loss
// of another kind was detected, a cause takes at least 5 % of the base's time per cycle. The
// interval of a cause's difference excludes zero. Each generation yields one difference, so a slow
// host in a generation affects both sides. The intervals are simultaneous: with a probability of 95
// %, the intervals of all candidates contain the true difference. Candidates are the fsyncs, the
// stages, and the functions and locks whose time in both sides together reaches the minimum of a
// cause.
//
// An error reports that the profiles could not be compared. The causes then come from counters and
// stages only.
func ExplainDuet(c *result.Comparison, d *result.Duet, base, change result.Arm) error {
	var sides [2][]profile.PerRound
	var failed error
	for i, arm := range []result.Arm{base, change} {
		rounds, err := capturedOf(arm)
		sides[i], failed = rounds, errors.Join(failed, err)
	}
	profiled := failed == nil && len(sides[0]) > 0 && len(sides[1]) > 0
	if profiled {
		c.Profiles, failed = profile.Diff(sides[0], sides[1])
	}
	if c.Verdict != result.Regressed {
		return failed
	}
	var beside []profile.Beside
	if profiled && failed == nil {
		beside, failed = profile.PairUp(sides[0], sides[1])
	}
	c.Search = &result.CauseSearch{}
	if len(beside) > 0 {
		c.Search.Generations, c.Search.Seconds = len(beside[0].Base), d.ProfiledS
	}
	return errors.Join(failed, searchCauses(c, base.Result, change.Result, beside))
}

// searchCauses sets the causes of a loss in c. beside contains the functions and locks of the
// profiles; it is empty without profiles.
func searchCauses(c *result.Comparison, base, change *result.Result, beside []profile.Beside) error {
	cycleUs := meanCycleUs(timedRounds(base))
	called := lostOf(c, cycleUs)
	candidates, others := candidatesOf(beside, called, cycleUs), 0
	if called.of(causeStage, false).looked() {
		others = len(causeStages) + 1 // and fsyncs
	}
	s := c.Search
	s.LookedAt, s.Share, s.Confidence = len(candidates)+others, causeShare, 1-causesAlpha
	for _, l := range called.called() {
		s.Losses = append(s.Losses, result.LostTime{Of: l.of, Us: l.us})
	}
	if len(s.Losses) == 0 {
		s.Share = causePartMin
	}
	deltas, err := moreOf(candidates, s.LookedAt)
	if err != nil {
		return err
	}
	if s.LookedAt > 0 {
		c.Causes = causesOf([]*result.Result{base}, change, deltas, pairsDiffer(causesAlpha/float64(s.LookedAt)), called)
	}
	return nil
}

// candidatesOf returns the functions and locks that may be causes. A function or lock whose time in
// both sides together is less than the minimum increase by a cause cannot be a cause. This filter
// does not depend on the difference between the sides, so it does not bias the intervals of the
// others.
func candidatesOf(beside []profile.Beside, called lost, cycleUs float64) (candidates []profile.Beside) {
	for _, b := range beside {
		kind := causeCPU
		if b.Kind == profile.KindLock {
			kind = causeLock
		}
		if b.Function != result.ChargeScheduling && b.Level()/1e3 >= called.of(kind, b.Node == result.GeneratorNode).least(cycleUs) {
			candidates = append(candidates, b)
		}
	}
	return candidates
}

// moreOf returns the difference of each candidate between the sides, with simultaneous intervals
// for the given number of comparisons. The candidates of one kind and node share their noise
// estimate.
func moreOf(candidates []profile.Beside, comparisons int) (deltas []result.ProfileDelta, err error) {
	for from := 0; from < len(candidates); {
		to := from
		var features []stat.Pairs
		for ; to < len(candidates) && candidates[to].Node == candidates[from].Node && candidates[to].Kind == candidates[from].Kind; to++ {
			features = append(features, candidates[to].Pairs)
		}
		differences, err := stat.ModeratedDifferences(features, causesAlpha, comparisons)
		if err != nil {
			return nil, err
		}
		for i, d := range differences {
			b := candidates[from+i]
			deltas = append(deltas, result.ProfileDelta{
				Node: b.Node, Kind: b.Kind, Function: b.Function, Unit: "nanoseconds", Base: d.Base, Change: d.Change, Low: d.Low, High: d.High,
			})
		}
		from = to
	}
	return deltas, nil
}

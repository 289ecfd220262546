package gate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

const (
	causeLock       = "lock"
	causeCPU        = "cpu"
	causeAllocation = "allocation"
	causeFsync      = "fsync"
	causeStage      = "stage"
)

const (
	// causesMax bounds the number of reported causes.
	causesMax = 5
	// A cause is reported if its share of the time per cycle is at least causePartMin.
	causePartMin = 0.05
)

// Explain returns the causes why a cycle takes longer in a change than in the arms of its base,
// largest first, and the functions and locks that differ. A cause adds at least 5 % of the base's
// time per cycle, and the 95 % interval of the difference, over the rounds of both sides, excludes
// zero. With a single round on a side there is no interval and therefore no cause. If another arm
// of the base shows the same difference, Explain attributes it to the host and drops it. Functions
// and locks come from the profiles in the folders of the arms. If the profiles cannot be compared,
// Explain returns the error together with the other causes.
func Explain(base []result.Arm, change result.Arm) ([]result.Cause, []result.ProfileDelta, error) {
	deltas, err := diffProfiles(base, change)
	results := make([]*result.Result, len(base))
	for i, a := range base {
		results[i] = a.Result
	}
	causes := causesOf(results, change.Result, deltas, differs, lost{})
	for _, control := range results[1:] {
		host := causesOf(results[:1], control, nil, differs, lost{})
		causes = slices.DeleteFunc(causes, func(c result.Cause) bool {
			return slices.ContainsFunc(host, func(h result.Cause) bool { return h.Kind == c.Kind && h.Name == c.Name })
		})
	}
	return causes, deltas, err
}

// diffProfiles compares the profiles of the change with the profiles of all arms of the base. It
// returns nil if a side has no profiles.
func diffProfiles(base []result.Arm, change result.Arm) ([]result.ProfileDelta, error) {
	var sides [2][]profile.PerRound
	for i, arms := range [][]result.Arm{base, {change}} {
		for _, a := range arms {
			rounds, err := capturedOf(a)
			if err != nil {
				return nil, err
			}
			sides[i] = append(sides[i], rounds...)
		}
	}
	if len(sides[0]) == 0 || len(sides[1]) == 0 {
		return nil, nil
	}
	return profile.Diff(sides[0], sides[1])
}

// capturedOf returns the profiles of an arm by round, or nil if the arm has no profiles or only
// published summaries of them.
func capturedOf(a result.Arm) ([]profile.PerRound, error) {
	if a.Path == "" || len(a.Result.Profiles) == 0 {
		return nil, nil
	}
	rounds, err := profile.Rounds(a.Path, a.Result, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	return rounds, nil
}

// comparing returns the difference of a measure and whether the change is significantly higher.
type comparing func(base, change []result.Round, of measure) (stat.Difference, bool)

// causesOf returns the causes of a longer cycle. A stage is charged only the time that no function,
// lock or fsync explains.
func causesOf(base []*result.Result, change *result.Result, deltas []result.ProfileDelta, more comparing, called lost) []result.Cause {
	b, c := timedRounds(base...), timedRounds(change)
	cycleUs := meanCycleUs(b)
	if cycleUs == 0 || meanCycleUs(c) == 0 {
		return nil
	}
	var out []result.Cause
	var explained float64
	add := func(kind, name string, generator bool, us float64, sentence string) {
		if l := called.of(kind, generator); us >= l.least(cycleUs) {
			explained += us
			out = append(out, result.Cause{Kind: kind, Name: name, Score: us, Sentence: sentence + l.share(us)})
		}
	}
	for _, d := range deltas {
		// Scheduling follows from the waits.
		if d.Low <= 0 || d.Unit != "nanoseconds" || d.Function == result.ChargeScheduling {
			continue
		}
		us, side, generator := (d.Change-d.Base)/1e3, "", d.Node == result.GeneratorNode
		if generator {
			side = "in the load generator, "
		}
		switch d.Kind {
		case "cpu":
			add(causeCPU, d.Function, generator, us, fmt.Sprintf("%s%s takes %s of CPU a cycle, %s%s", side, named(d.Function, callersOf(change, d)), render.Nanoseconds(d.Change),
				before(render.Nanoseconds(d.Base), d.Low, d.High), allocates(d, deltas)))
		case profile.KindLock:
			add(causeLock, d.Function, generator, us, fmt.Sprintf("%sgoroutines wait %s a cycle for %s%s, %s", side, render.Nanoseconds(d.Change), d.Function, heldBy(change, d),
				before(render.Nanoseconds(d.Base), d.Low, d.High)))
		}
	}
	if d, ok := more(b, c, metricOf(result.StorageFsyncUsPerCycle)); ok {
		fsyncs := metricOf(result.StorageFsyncsPerCycle)
		add(causeFsync, "prony_storage_fsyncs_total", false, d.Change-d.Base, fmt.Sprintf("fsyncs take %s a cycle, %s: %s fsyncs a cycle, %s before",
			microseconds(d.Change), before(microseconds(d.Base), 1e3*d.Low, 1e3*d.High), few(meanOf(c, fsyncs)), few(meanOf(b, fsyncs))))
	}
	for _, name := range causeStages {
		d, ok := more(b, c, stageOf(name))
		rest := d.Change - d.Base - explained
		l := called.of(causeStage, false)
		if !ok || rest < l.least(cycleUs) {
			continue
		}
		out = append(out, result.Cause{Kind: causeStage, Name: name, Score: rest, Sentence: fmt.Sprintf(
			"stage %s takes %s a cycle, %s; no function, lock or fsync with a significant increase explains %s of that",
			name, microseconds(d.Change), before(microseconds(d.Base), 1e3*d.Low, 1e3*d.High), microseconds(rest)) + l.share(rest)})
	}
	slices.SortStableFunc(out, func(x, y result.Cause) int { return cmp.Compare(y.Score, x.Score) })
	return out[:min(len(out), causesMax)]
}

// causeStages are the stages that do work. In the others, batches only wait for one another.
var causeStages = []string{result.StageReceive, result.StageDecide, result.StageApply, result.StageCommit, result.StageReply}

// before formats the old value and the range of the increase. low and high are in nanoseconds.
func before(was string, low, high float64) string {
	return fmt.Sprintf("%s before (%s to %s more)", was, render.Nanoseconds(low), render.Nanoseconds(high))
}

// timedRounds returns the timed rounds of results that have cycles. It skips a result with a sweep,
// because its points differ.
func timedRounds(results ...*result.Result) (all []result.Round) {
	for _, r := range results {
		if r == nil || len(r.Points) > 0 {
			continue
		}
		for _, round := range r.Rounds {
			if round.Timed() && round.Cycles > 0 && round.WindowSeconds > 0 {
				all = append(all, round)
			}
		}
	}
	return all
}

// measure returns a figure of a round, in microseconds per cycle, with the number of events behind
// it. known is false if the round lacks the figure.
type measure func(*result.Round) (of stat.Counted, known bool)

func stageOf(name string) measure {
	return func(r *result.Round) (stat.Counted, bool) {
		for _, s := range r.Stages {
			if s.Name == name {
				cover := result.StagesCover([]result.Round{*r})
				if cover.Cycles == 0 {
					return stat.Counted{}, false
				}
				return stat.Counted{Value: 1e3 * s.SumMs / float64(cover.Cycles), Events: float64(s.Count)}, true
			}
		}
		return stat.Counted{}, false
	}
}

func metricOf(name string) measure {
	return func(r *result.Round) (stat.Counted, bool) {
		v, has := r.Metrics[name]
		return stat.Counted{Value: v, Events: float64(r.Cycles)}, has && !math.IsNaN(v) && !math.IsInf(v, 0)
	}
}

func differs(base, change []result.Round, of measure) (stat.Difference, bool) {
	var sides [2][]stat.Counted
	for i, rounds := range [][]result.Round{base, change} {
		for k := range rounds {
			if v, known := of(&rounds[k]); known {
				sides[i] = append(sides[i], v)
			}
		}
	}
	d, err := stat.MeanDifference(sides[0], sides[1])
	return d, err == nil && d.Low > 0
}

// pairsDiffer compares rounds of the two sides in pairs of equal round number. The interval has the
// confidence level 1 - alpha.
func pairsDiffer(alpha float64) comparing {
	return func(base, change []result.Round, of measure) (d stat.Difference, is bool) {
		var each []float64
		for i := range base {
			k := slices.IndexFunc(change, func(r result.Round) bool { return r.Number == base[i].Number })
			if k < 0 {
				continue
			}
			b, hasBase := of(&base[i])
			c, hasChange := of(&change[k])
			if hasBase && hasChange {
				d.Base, d.Change = d.Base+b.Value, d.Change+c.Value
				each = append(each, c.Value-b.Value)
			}
		}
		m, err := stat.TrimmedMean(each, 0)
		if err != nil {
			return d, false
		}
		d.N = len(each)
		d.Base, d.Change = d.Base/float64(d.N), d.Change/float64(d.N)
		d.Low, d.High = m.Lower(alpha/2), m.Upper(alpha/2)
		return d, d.Low > 0
	}
}

// meanOf returns the mean of a measure over the rounds that have it, or 0 if no round does.
func meanOf(rounds []result.Round, of measure) float64 {
	sum, n := 0.0, 0
	for i := range rounds {
		if v, known := of(&rounds[i]); known {
			sum, n = sum+v.Value, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// meanCycleUs returns the wall-clock time per cycle in microseconds, or 0 without cycles.
func meanCycleUs(rounds []result.Round) float64 {
	var seconds, cycles float64
	for i := range rounds {
		seconds, cycles = seconds+rounds[i].WindowSeconds, cycles+float64(rounds[i].Cycles)
	}
	if cycles == 0 {
		return 0
	}
	return 1e6 * seconds / cycles
}

func allocates(d result.ProfileDelta, deltas []result.ProfileDelta) string {
	for _, a := range deltas {
		if a.Kind == "allocs" && a.Node == d.Node && a.Function == d.Function && a.Low > 0 {
			return fmt.Sprintf("; it allocates %s a cycle, %s before", render.Amount(a.Change, a.Unit), render.Amount(a.Base, a.Unit))
		}
	}
	return ""
}

func callersOf(r *result.Result, d result.ProfileDelta) []string {
	function := d.Function
	if _, is, renamed := strings.Cut(function, result.RenamedTo); renamed {
		function = is
	}
	for _, p := range r.Profiles {
		if p.Kind != d.Kind || (p.Node == result.GeneratorNode) != (d.Node == result.GeneratorNode) {
			continue
		}
		for _, c := range p.Charges {
			if c.Function == function {
				return c.Callers
			}
		}
	}
	return nil
}

func heldBy(r *result.Result, d result.ProfileDelta) string {
	for _, l := range r.Locks {
		if l.Name == d.Function && (l.Node == result.GeneratorNode) == (d.Node == result.GeneratorNode) {
			return sitesOf(l)
		}
	}
	return ""
}

package gate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/pronybench/prony/harness/result"
)

// Names of the arms that Judge expects.
const (
	baseArm    = "base"
	changeArm  = "change"
	controlArm = "control"
)

// Judge returns the function that compares arms measured in blocks by the policy. The arms are
// named base, change and control; the control is optional.
func Judge(policy Policy) func([]result.Arm) *result.Comparison {
	return func(arms []result.Arm) *result.Comparison {
		var base, change result.Arm
		var control *result.Arm
		for _, a := range arms {
			switch a.Name {
			case baseArm:
				base = a
			case changeArm:
				change = a
			case controlArm:
				control = &a
			}
		}
		return Compare(base, change, control, true, policy)
	}
}

// Compare judges a change against its base. paired is true if both, and the control, were measured
// in blocks; timed rounds with the same number then form a pair. control is a second measurement of
// the base, or nil.
//
// A timing is regressed or improved if all of these hold:
//
//   - the ratio differs from 1 by at least the least effect;
//   - its whole interval is further from 1 than the ratio of the control, which shows the noise of
//     this run;
//   - the test of the paired rounds is significant after Holm's correction over the timings.
//
// A timing is the same if the ratio differs from 1 by less than the least effect, its interval
// includes no loss that large, the control's ratio differs from 1 by less, and the rounds could
// have detected the least effect. Otherwise it is inconclusive. If a control exists, the change is
// compared with both arms of the base, because twice the rounds make the ratio more stable.
//
// A counter is regressed under the same conditions with its own level. It is also regressed if its
// ranges do not overlap and it rose by at least the least effect and twice the widest range of any
// arm; see the method counter.
//
// The verdict is the first of these that applies: an arm's own verdict of incorrect, misconfigured
// or invalid; regressed if any metric is; inconclusive if a required metric is, or if one side
// lacks a metric; pass. Compare judges nothing if the ledger of an arm does not balance.
func Compare(base, change result.Arm, control *result.Arm, paired bool, policy Policy) *result.Comparison {
	c := &result.Comparison{
		Version: result.Version, Verdict: result.Pass, Base: base.Side(), Change: change.Side(), Paired: paired,
		Metrics: []result.MetricDelta{},
	}
	if control != nil {
		side := control.Side()
		c.Control = &side
	}
	fail := func(v result.Verdict, format string, args ...any) {
		c.Verdict = result.Worst(c.Verdict, v)
		c.Reasons = append(c.Reasons, fmt.Sprintf(format, args...))
	}
	if err := policy.check(); err != nil {
		fail(result.Misconfigured, "%v", err)
		return c
	}
	arms := []result.Arm{base, change}
	if control != nil {
		arms = append(arms, *control)
	}
	if err := alike(arms); err != nil {
		fail(result.Misconfigured, "%v", err)
		return c
	}
	c.Scenario, c.Started, c.Finished = base.Result.Scenario, base.Result.Started, base.Result.Finished
	for _, a := range arms {
		r := a.Result
		switch r.Verdict {
		case result.Pass, result.Regressed, result.Inconclusive:
			continue
		}
		fail(r.Verdict, "%s is %s", a.Name, r.Verdict)
		for _, reason := range r.Reasons {
			c.Reasons = append(c.Reasons, a.Name+": "+reason)
		}
	}
	if c.Verdict == result.Incorrect || c.Verdict == result.Misconfigured {
		return c
	}
	c.Base.Bound, c.Change.Bound = boundOf(base.Result), boundOf(change.Result)
	j, err := newJudgement(arms, paired, policy)
	if err != nil {
		fail(result.Invalid, "%v", err)
		c.Metrics = notJudged(arms, policy)
		addHosts(c, base.Result, change.Result)
		return c
	}
	if paired {
		c.Blocks = len(j.sides[0].rounds)
	}
	if c.Metrics, err = j.all(); err != nil {
		fail(result.Invalid, "%v", err)
	}
	c.Warnings = append(c.Warnings, j.warnings...)
	addHosts(c, base.Result, change.Result)
	j.verdict(c)
	of := []result.Arm{base}
	if control != nil {
		of = append(of, *control)
	}
	causes, profiles, err := Explain(of, change)
	if err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the profiles were not compared: %v", err))
	}
	c.Profiles = profiles
	if c.Verdict == result.Regressed {
		c.Causes = causes
	}
	return c
}

func alike(arms []result.Arm) error {
	for _, a := range arms {
		switch {
		case a.Result == nil:
			return fmt.Errorf("the %s has no result to compare", a.Name)
		case a.Result.Version < 1 || a.Result.Version > result.Version:
			return fmt.Errorf("the result of the %s has version %d and this program judges version %d: run the scenario again", a.Name, a.Result.Version, result.Version)
		case !a.Result.Verdict.Known():
			return fmt.Errorf("the verdict %q of the %s is unknown: run the scenario again", a.Result.Verdict, a.Name)
		case a.Result.Scenario != arms[0].Result.Scenario:
			return fmt.Errorf("%s is of scenario %q and %s of %q: figures of different scenarios can't be compared",
				arms[0].Name, arms[0].Result.Scenario, a.Name, a.Result.Scenario)
		case len(a.Result.Points) > 0:
			return fmt.Errorf("%s has a sweep of %d points, but a comparison needs a single point: name a point of two stored runs with --point, or use a scenario without a sweep", a.Name, len(a.Result.Points))
		}
	}
	return nil
}

// side contains the measurements of one arm: its timed rounds and the cycle histogram of each.
type side struct {
	name   string
	rounds []result.Round
	cycles []*hdrhistogram.Histogram
}

type judgement struct {
	policy   Policy
	paired   bool
	sides    []side // base, change and perhaps control
	warnings []string
}

func newJudgement(arms []result.Arm, paired bool, policy Policy) (*judgement, error) {
	j := &judgement{policy: policy, paired: paired}
	for _, a := range arms {
		s := side{name: a.Name}
		for _, r := range a.Result.Rounds {
			if !r.Timed() || r.Verdict == result.Invalid {
				continue
			}
			at := slices.IndexFunc(a.Histograms, func(h result.RoundHistograms) bool { return h.Round == r.Number })
			if at < 0 {
				return nil, fmt.Errorf("%s: round %d has no histograms", a.Name, r.Number)
			}
			s.rounds, s.cycles = append(s.rounds, r), append(s.cycles, a.Histograms[at].Cycle)
		}
		j.sides = append(j.sides, s)
	}
	if paired {
		j.pair()
	} else {
		j.warnings = append(j.warnings, "the rounds did not alternate: a host that was slower for one side looks like a difference")
	}
	if len(arms) < 3 {
		j.warnings = append(j.warnings, "there is no control: only the spread of the rounds shows the noise of the host")
	}
	for _, s := range j.sides {
		if len(s.rounds) < 2 {
			return nil, fmt.Errorf("%s has %d rounds that count: a comparison needs at least 2", s.name, len(s.rounds))
		}
	}
	return j, nil
}

// pair removes the rounds whose number is missing on any side.
func (j *judgement) pair() {
	count := map[int]int{}
	for _, s := range j.sides {
		for _, r := range s.rounds {
			count[r.Number]++
		}
	}
	for i := range j.sides {
		s := &j.sides[i]
		var kept side
		for k, r := range s.rounds {
			if count[r.Number] == len(j.sides) {
				kept.rounds, kept.cycles = append(kept.rounds, r), append(kept.cycles, s.cycles[k])
			}
		}
		if left := len(s.rounds) - len(kept.rounds); left > 0 {
			j.warnings = append(j.warnings, fmt.Sprintf("%s: %d rounds have no matching round on the other sides and do not count", s.name, left))
		}
		s.rounds, s.cycles = kept.rounds, kept.cycles
	}
}

// values returns a metric's value in each round of a side. The result there is false if no round
// has the metric. It fails if only some rounds have it.
func (s side) values(metric string) (values []float64, there bool, err error) {
	var missing []int
	for _, r := range s.rounds {
		if v, has := r.Metrics[metric]; has {
			values = append(values, v)
		} else {
			missing = append(missing, r.Number)
		}
	}
	if len(values) > 0 && len(missing) > 0 {
		return nil, true, fmt.Errorf("%s: rounds %v of %s have no value", metric, missing, s.name)
	}
	return values, len(values) > 0, nil
}

// figure summarises a metric of a side from its value in each round. It returns the median of the
// rounds. For a percentile it returns the percentile of the merged histograms, with the lowest and
// the highest round as its range.
func (s side) figure(values []float64, spec result.Spec) result.Metric {
	m, err := result.MedianOf(values, spec)
	if _, ok := percentileOf[spec.Name]; !ok || err != nil {
		return m
	}
	merged := result.NewHistograms()
	for _, h := range s.cycles {
		merged.Cycle.Merge(h)
	}
	m.Median, m.Low, m.High = result.LatencyMetrics(merged)[spec.Name], slices.Min(values), slices.Max(values)
	return m
}

func (j *judgement) all() ([]result.MetricDelta, error) {
	deltas := []result.MetricDelta{}
	var errs []error
	for _, m := range j.policy.Metrics {
		d, there, err := j.metric(m)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if there {
			deltas = append(deltas, d)
		}
	}
	j.correct(deltas)
	return deltas, errors.Join(errs...)
}

// metric compares one metric. The result there is false if no side has the metric.
func (j *judgement) metric(m Judged) (d result.MetricDelta, there bool, err error) {
	spec, _ := result.Lookup(m.Metric)
	d = result.MetricDelta{Metric: m.Metric, Unit: spec.Unit, Better: spec.Better, Effect: m.Effect, P: 1, PAdjusted: 1}
	values := make([][]float64, len(j.sides))
	var without []string
	for i, s := range j.sides {
		found, has, err := s.values(m.Metric)
		if err != nil {
			return d, true, err
		}
		if !has {
			without = append(without, s.name)
		}
		values[i] = found
	}
	if len(without) == len(j.sides) {
		if m.Required {
			return d, false, fmt.Errorf("%s: no side has it", m.Metric)
		}
		return d, false, nil
	}
	// A side without values has no figure; Outcome records that. A value that is not finite fails
	// the test below.
	d.Base, d.Change = j.sides[0].figure(values[0], spec), j.sides[1].figure(values[1], spec)
	if len(without) > 0 {
		d.Outcome, d.Because = result.Unclear, fmt.Sprintf("%v has no such figure, so there is nothing to compare", without)
		return d, true, nil
	}
	if m.Counter {
		return d, true, j.counter(&d, values)
	}
	return d, true, j.timing(&d, values)
}

func (j *judgement) verdict(c *result.Comparison) {
	required := map[string]bool{}
	for _, m := range j.policy.Metrics {
		required[m.Metric] = m.Required
	}
	for _, d := range c.Metrics {
		missing := d.Base.N == 0 || d.Change.N == 0
		switch {
		case d.Outcome == result.Worsened:
			c.Verdict = result.Worst(c.Verdict, result.Regressed)
			c.Reasons = append(c.Reasons, d.Metric+" "+d.Because)
		case d.Outcome == result.Unclear && (required[d.Metric] || missing):
			c.Verdict = result.Worst(c.Verdict, result.Inconclusive)
			c.Reasons = append(c.Reasons, d.Metric+" "+d.Because)
		}
	}
}

// addHosts adds to a comparison of two stored results how their hosts differ, and the figures as
// shares of the bare data path of each run, which can be compared between hosts. Rounds measured in
// blocks share a host and do not need it.
func addHosts(c *result.Comparison, base, change *result.Result) {
	if c.Paired {
		return
	}
	if c.Hosts = result.HostDifferences(base.Manifest, change.Manifest); len(c.Hosts) > 0 {
		c.Warnings = append(c.Warnings, "the hosts differ, so a difference is that of host and build together")
	}
	for i := range c.Metrics {
		d := &c.Metrics[i]
		d.BaseOfBare, d.ChangeOfBare = shareOfBare(base, d.Metric, d.Base), shareOfBare(change, d.Metric, d.Change)
	}
}

func shareOfBare(r *result.Result, metric string, m result.Metric) *result.Metric {
	if bare := r.Bare(result.Point{}); bare != nil {
		if share, ok := bare.Share(metric, m); ok {
			return &share
		}
	}
	return nil
}

package gate

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/result"
)

// JudgeDuet judges the change of a duet against its base. look is the number of judgements of this
// growing duet so far, including this one, from 1 to policy.Looks. Later looks use the generations
// of the earlier looks and additional ones.
//
// A primary has one figure per generation and side. CPU time is the total of the side's processes
// divided by the acknowledged cycles. The rate is the cycles divided by the time of the side's
// slices. p50 and p99 come from the merged histogram of the side's open slices. No slice is judged
// alone. The ratio of the change to the base in one generation is one value. Fresh processes make
// the values independent, so Student's t can be applied to their logarithms:
//
//   - A primary is regressed if the one-sided lower bound of its loss exceeds policy.Least. Holm's
//     weighted step-down procedure over the primaries bounds the probability of a false alarm in
//     one look by the look's share, and all looks together spend policy.Alpha.
//   - A primary is the same if the one-sided upper 95 % bound of its loss is below its margin.
//
// The verdict is regressed if a primary or a counter of fixed work is. It is pass if all primaries,
// except those with AlarmOnly, are the same or improved. Otherwise it is inconclusive and needs
// more generations: Decided is false until the last look. Before the last look, a pass also
// requires that no loss above policy.Least is suspected at the level of 10 %.
//
// Invalid generations are ignored; see faults. If a generation is incorrect or misconfigured, the
// duet has the same verdict and no figure is judged. A figure that is 0, negative or not finite
// makes the verdict invalid.
func JudgeDuet(d *result.Duet, look int, policy DuetPolicy) *result.Comparison {
	c := &result.Comparison{Version: result.Version, Verdict: result.Pass, Paired: true, Metrics: []result.MetricDelta{}}
	c.Duet = &result.DuetJudgement{
		Look: look, Looks: policy.Looks, Alpha: policy.spent(look), AlphaAll: policy.Alpha, Confidence: 1 - passAlpha, Decided: true,
	}
	if err := checkDuet(d, look, policy); err != nil {
		fail(c, result.Misconfigured, err.Error())
		return c
	}
	conditions(c, d)
	j := &duetJudgement{c: c, policy: policy, look: look}
	j.count(d)
	if c.Verdict == result.Incorrect || c.Verdict == result.Misconfigured {
		return c
	}
	j.faults(d)
	show(c, j.generations)
	if n := len(j.generations); n < policy.GenerationsMin {
		fail(c, result.Inconclusive, fmt.Sprintf("%d generations count, but a verdict needs at least %d", n, policy.GenerationsMin))
	} else {
		j.primaries()
	}
	j.work(d.Work)
	j.verdict()
	c.Duet.Decided = look == policy.Looks || c.Verdict != result.Inconclusive
	return c
}

type duetJudgement struct {
	c      *result.Comparison
	policy DuetPolicy
	look   int
	// generations are the generations that enter the judgement.
	generations []result.Generation
	suspected   bool // a primary's loss may exceed policy.Least
}

func fail(c *result.Comparison, v result.Verdict, reason string) {
	c.Verdict = result.Worst(c.Verdict, v)
	c.Reasons = append(c.Reasons, reason)
}

func checkDuet(d *result.Duet, look int, policy DuetPolicy) error {
	if err := policy.check(); err != nil {
		return err
	}
	switch {
	case d == nil:
		return fmt.Errorf("there is no duet to judge")
	case d.Version != result.DuetVersion:
		return fmt.Errorf("the duet has version %d and this program judges version %d: measure it again", d.Version, result.DuetVersion)
	case look < 1 || look > policy.Looks:
		return fmt.Errorf("look %d is not among the %d looks of the policy", look, policy.Looks)
	}
	return nil
}

func conditions(c *result.Comparison, d *result.Duet) {
	c.Scenario, c.Started, c.Finished = d.Scenario, d.Started, d.Finished
	c.Warnings = append(c.Warnings, d.Warnings...)
	for i, side := range []*result.Side{&c.Base, &c.Change} {
		s := d.Sides[i]
		*side = result.Side{Name: []string{baseArm, changeArm}[i], Commit: s.Commit, Dirty: s.Dirty}
		if len(s.Servers) > 0 {
			side.Server = s.Servers[0]
		}
	}
	o := c.Duet
	o.Measured, o.Durability, o.Together = len(d.Generations), d.Manifest.Durability(), d.Together
	o.CPUs = d.CPUs
	o.SliceMs, o.OpenPerS, o.Layouts = d.SliceMs, d.OpenPerS, len(d.Sides[0].Servers)
	o.OwnClients = d.Sides[0].OwnClient && d.Sides[1].OwnClient
	for _, g := range d.Generations {
		o.Seconds += g.Seconds
	}
	o.ServerSettings = serverSettings(c, d)
}

// serverSettings returns the server settings of a duet that differ from their defaults or between
// the sides. It adds a warning for each setting that differs between the sides.
func serverSettings(c *result.Comparison, d *result.Duet) (shown []result.SidesSetting) {
	for _, s := range result.BesideSettings(d.Sides[0].Settings, d.Sides[1].Settings) {
		switch {
		case s.IsDefault() && s.Server == "":
			continue
		case s.OfBuilds():
			c.Warnings = append(c.Warnings, fmt.Sprintf("the change alters a default: the server's %s was %q and is %q", s.Label(), s.Base, s.Change))
		case s.Differs():
			c.Warnings = append(c.Warnings, fmt.Sprintf("base and change ran with different settings: the server's %s is %q and %q", s.Label(), s.Base, s.Change))
		case s.Only != "":
			c.Warnings = append(c.Warnings, fmt.Sprintf("only the %s's server has the setting %s, which is %q", s.Only, s.Label(), s.Base+s.Change))
		}
		shown = append(shown, s)
	}
	return shown
}

func (j *duetJudgement) verdict() {
	c := j.c
	for _, d := range c.Metrics {
		if d.Outcome == result.Worsened {
			fail(c, result.Regressed, d.Metric+" "+d.Because)
		}
	}
	for _, d := range c.Metrics {
		if d.Outcome == result.Unclear && !j.tolerates(d) && c.Verdict != result.Regressed {
			fail(c, result.Inconclusive, d.Metric+" "+d.Because)
		}
	}
	if c.Verdict == result.Pass && j.suspected && j.look < j.policy.Looks {
		fail(c, result.Inconclusive, fmt.Sprintf("a loss of more than %s is suspected, so it is too early to pass", percent(j.policy.Least)))
	}
}

// tolerates reports whether a duet may pass despite an unclear figure. It may if the figure is
// AlarmOnly and has a loss over generations, which requires that both sides have the figure.
func (j *duetJudgement) tolerates(d result.MetricDelta) bool {
	return d.Loss != nil && len(d.Loss.Generations) > 0 &&
		slices.ContainsFunc(j.policy.Primaries, func(p Primary) bool { return p.AlarmOnly && p.Metric == d.Metric })
}

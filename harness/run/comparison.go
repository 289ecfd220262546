package run

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// Judge compares arms that were measured in blocks. Package gate implements it: run measures and does not judge.
type Judge func(arms []result.Arm) *result.Comparison

// Compare measures arms in blocks, judges them, and stores the comparison beside the results of the arms. The verdict is invalid if too many blocks
// were dropped, unless the change is at fault for that: then it is regressed. Compare returns the comparison and its folder; errors are those of
// Interleave.
func Compare(ctx context.Context, s *scenario.Scenario, arms []Arm, o ArmsOptions, judge Judge) (*result.Comparison, string, error) {
	measured, err := Interleave(ctx, s, arms, o)
	if err != nil {
		if measured == nil {
			return nil, "", err
		}
		return nil, measured.Folder, err
	}
	c := judge(measured.Arms)
	finishComparison(c, measured, s.Rounds)
	return c, measured.Folder, result.WriteComparison(measured.Folder, c)
}

// finishComparison adds the times, the dropped blocks and their warnings to a comparison.
func finishComparison(c *result.Comparison, measured *Arms, rounds int) {
	c.Dropped, c.Tried = measured.Dropped, measured.Tried
	c.Started, c.Finished = measured.Started, measured.Finished
	c.Warnings = append(c.Warnings, measured.Why...)
	JudgeDropped(c, rounds)
}

// JudgeDropped worsens the verdict of a comparison if the change had more invalid rounds than chance explains, or if more blocks were dropped than
// a fit host would have. rounds is the number of timed rounds that the scenario has for each arm.
func JudgeDropped(c *result.Comparison, rounds int) {
	if judgeInvalid(c) {
		return
	}
	if c.Dropped > droppedMax(rounds) {
		c.Verdict = result.Worst(c.Verdict, result.Invalid)
		c.Reasons = append(c.Reasons, fmt.Sprintf("%d blocks were dropped, and %d measured: the host is not fit", c.Dropped, c.Blocks))
	}
}

// The levels of the test of whether invalid rounds are the change's fault.
const (
	invalidAlpha   = 0.005 // the change is regressed
	invalidSuspect = 0.05  // the change does not pass
)

// judgeInvalid tests whether the rounds of the change were invalid more often than those of the other arms. A host that is not fit makes
// the rounds of all arms invalid alike, and a dropped block says nothing; a change that makes its rounds invalid must not pass because
// these rounds were left out. It reports whether the change is at fault.
func judgeInvalid(c *result.Comparison) (atFault bool) {
	var change, others result.Tried
	for _, t := range c.Tried {
		of := &others
		if t.Name == Change {
			of = &change
		}
		of.Rounds, of.Invalid = of.Rounds+t.Rounds, of.Invalid+t.Invalid
	}
	if change.Invalid == 0 {
		return false
	}
	p, err := stat.FisherGreater(change.Invalid, change.Rounds, others.Invalid, others.Rounds)
	if err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("whether the invalid rounds are the change's fault could not be tested: %v", err))
		return false
	}
	text := fmt.Sprintf("%d of %d rounds of the change were invalid, and %d of %d of the others (p = %.4f)",
		change.Invalid, change.Rounds, others.Invalid, others.Rounds, p)
	judged := func(v result.Verdict, says string) {
		c.Verdict = result.Worst(c.Verdict, v)
		c.Reasons = append(c.Reasons, text+says)
	}
	switch {
	case p <= invalidAlpha:
		judged(result.Regressed, ": the change makes its rounds invalid")
	case p <= invalidSuspect:
		judged(result.Inconclusive, ": the change may be at fault")
	default:
		c.Warnings = append(c.Warnings, text)
	}
	return p <= invalidAlpha
}

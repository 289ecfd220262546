package run

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// Judge compares arms that were measured in blocks and returns the comparison with its verdict.
// Package gate implements it: package run only measures.
type Judge func(arms []result.Arm) *result.Comparison

// Compare measures arms in blocks, judges them, and stores the comparison next to the results of
// the arms. If too many blocks were dropped, the verdict is invalid; if the change caused the
// drops, it is regressed. Compare returns the comparison and the path of its folder. It fails if
// Interleave fails or if the comparison cannot be written.
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

// finishComparison copies the times, the dropped blocks and their warnings to a comparison, and
// judges the drops.
func finishComparison(c *result.Comparison, measured *Arms, rounds int) {
	c.Dropped, c.Tried = measured.Dropped, measured.Tried
	c.Started, c.Finished = measured.Started, measured.Finished
	c.Warnings = append(c.Warnings, measured.Why...)
	JudgeDropped(c, rounds)
}

// JudgeDropped worsens the verdict of a comparison if the change had more invalid rounds than
// chance explains, or if more blocks were dropped than expected on a fit host. rounds is the number
// of timed rounds per arm in the scenario.
func JudgeDropped(c *result.Comparison, rounds int) {
	if judgeInvalid(c) {
		return
	}
	if c.Dropped > droppedMax(rounds) {
		c.Verdict = result.Worst(c.Verdict, result.Invalid)
		c.Reasons = append(c.Reasons, fmt.Sprintf("%d blocks were dropped and %d measured: the host is not fit", c.Dropped, c.Blocks))
	}
}

// Significance levels of the test for whether the change causes invalid rounds.
const (
	invalidAlpha   = 0.005 // if p is at most this, the change is regressed
	invalidSuspect = 0.05  // if p is at most this, the change does not pass
)

// judgeInvalid tests whether the rounds of the change were invalid more often than those of the
// other arms. It reports whether the change is at fault. An unfit host makes rounds of all arms
// invalid with equal probability, so a dropped block alone is no evidence against the change. But a
// change that makes its own rounds invalid must not pass merely because these rounds do not count.
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
		c.Warnings = append(c.Warnings, fmt.Sprintf("cannot test whether the change causes the invalid rounds: %v", err))
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

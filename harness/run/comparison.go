package run

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Judge compares arms that were measured in blocks. Package gate implements it: run measures and does not judge.
type Judge func(arms []result.Arm) *result.Comparison

// Compare measures arms in blocks, judges them, and stores the comparison beside the results of the arms. The verdict is invalid
// if too many blocks were dropped. Compare returns the comparison and its folder; errors are those of Interleave.
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
	if err := DiffProfiles(c, measured.Arms); err != nil {
		c.Warnings = append(c.Warnings, fmt.Sprintf("the profiles were not compared: %v", err))
	}
	return c, measured.Folder, result.WriteComparison(measured.Folder, c)
}

// finishComparison adds the times, the dropped blocks and their warnings to a comparison.
func finishComparison(c *result.Comparison, measured *Arms, rounds int) {
	c.Dropped = measured.Dropped
	c.Started, c.Finished = measured.Started, measured.Finished
	c.Warnings = append(c.Warnings, measured.Why...)
	if measured.Dropped > droppedMax(rounds) {
		c.Verdict = result.Worst(c.Verdict, result.Invalid)
		c.Reasons = append(c.Reasons, fmt.Sprintf("%d blocks were dropped, and %d measured: the host is not fit", measured.Dropped, measured.Blocks))
	}
}

// DiffProfiles adds to a comparison by how much functions differ between the change and the base with its control. Arms without profiles add
// nothing.
func DiffProfiles(c *result.Comparison, arms []result.Arm) error {
	var base, change []profile.PerRound
	for _, a := range arms {
		if len(a.Result.Profiles) == 0 {
			continue
		}
		rounds, err := profile.Rounds(a.Path, a.Result, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		switch a.Name {
		case Change:
			change = append(change, rounds...)
		case Base, Control:
			base = append(base, rounds...)
		}
	}
	if len(base) == 0 || len(change) == 0 {
		return nil
	}
	found, err := profile.Diff(base, change)
	c.Profiles = found
	return err
}

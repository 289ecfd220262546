package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
)

// duet measures both sides at the same time, and judges the change after each look.
func (f *compareFlags) duet(c *cobra.Command, args []string, b *builder, s *scenario.Scenario, sources [2]source) (*result.Comparison, string, error) {
	ctx, stderr := c.Context(), c.ErrOrStderr()
	say(stderr, "%s: building %d layouts of the server, and the load generator, of %s and of %s", s.Name, layouts, f.base, f.changeName())
	var sides [2]duet.Side
	var warning string
	err := b.building(stderr, func() (err error) {
		for i, of := range sources {
			if sides[i], err = b.side(ctx, of); err != nil {
				return err
			}
		}
		warning, err = b.generators(ctx, sources, &sides)
		return err
	})
	o := duet.Options{Out: f.out, Command: args, Within: f.length, Seed: uint64(time.Now().UnixNano()), WorkCycles: f.workCycles}
	if err != nil {
		return nil, "", err
	}
	if warning != "" {
		o.Warnings = append(o.Warnings, warning)
	}
	if o.Expected, err = b.expected(ctx, sources); err != nil {
		return nil, "", err
	}
	policy, err := f.duetPolicy()
	if err != nil {
		return nil, "", err
	}
	if !f.differentSettings {
		o.Admit = checkServers
	}
	judge := &looking{policy: policy, looks: 1, verdict: result.Inconclusive}
	o.Looks, o.Decided, o.Profiled = policy.Looks, judge.decided, judge.profiled
	measured, folder, err := measureDuet(stderr, func(progress io.Writer) (*result.Duet, string, error) {
		o.Progress = progress
		return duet.Measure(ctx, s, sides, o)
	})
	if err != nil {
		return nil, folder, err
	}
	compared, err := described(folder, measured, gate.JudgeDuet(measured, judge.looks, policy))
	if err != nil {
		return nil, folder, err
	}
	return compared, folder, result.WriteComparison(folder, compared)
}

func measureDuet(w io.Writer, measure func(progress io.Writer) (*result.Duet, string, error)) (measured *result.Duet, folder string, err error) {
	err = during(w, "measuring", func(a *activity) (err error) {
		measured, folder, err = measure(a)
		return err
	})
	return measured, folder, err
}

// looking judges a duet after each look.
type looking struct {
	policy  gate.DuetPolicy
	looks   int            // done so far
	verdict result.Verdict // of the last look
}

// decided judges the duet, and reports whether the verdict is final.
func (l *looking) decided(d *result.Duet, look int) bool {
	c := gate.JudgeDuet(d, look, l.policy)
	l.looks, l.verdict = look, c.Verdict
	return c.Duet.Decided
}

// profiled returns the number of profiled generations that the verdict needs: only a loss needs
// causes.
func (l *looking) profiled(*result.Duet) int {
	if l.verdict != result.Regressed {
		return 0
	}
	return gate.CauseGenerations
}

// described adds to the comparison of a duet the scenario's settings, the limiting resource of each
// side, the differences of the profiles, and the causes of a loss. Without profiles, the causes
// come from the servers' counters alone.
func described(folder string, measured *result.Duet, compared *result.Comparison) (*result.Comparison, error) {
	compared.Duet.Settings = measured.Manifest.Scenario.Settings()
	arms := make([]result.Arm, 2)
	for i, name := range []string{run.Base, run.Change} {
		var err error
		if arms[i], err = result.ReadArm(name, filepath.Join(folder, name)); errors.Is(err, os.ErrNotExist) {
			arms[i] = result.Arm{Name: name, Result: &result.Result{Rounds: measured.Rounds(i)}}
		} else if err != nil {
			return nil, err
		}
	}
	gate.DescribeDuet(compared, measured, arms)
	if err := gate.ExplainDuet(compared, measured, arms[0], arms[1]); err != nil {
		compared.Warnings = append(compared.Warnings, fmt.Sprintf("the profiles were not compared: %v", err))
	}
	return compared, nil
}

// duetPolicy returns the default policy, with the margins of the rate and of CPU time from --effect
// if given.
func (f *compareFlags) duetPolicy() (gate.DuetPolicy, error) {
	policy := gate.DefaultDuetPolicy()
	if f.effect == "" {
		return policy, nil
	}
	effect, err := parseShare(f.effect)
	if err != nil {
		return policy, fmt.Errorf("--effect %w", err)
	}
	if effect <= policy.Least {
		return policy, fmt.Errorf("--effect %s must be above %v, the smallest loss that can be a regression", f.effect, policy.Least)
	}
	for i := range policy.Primaries {
		if p := &policy.Primaries[i]; p.Margin == gate.MarginCost {
			p.Margin = effect
		}
	}
	return policy, nil
}

// duetAgain judges a stored duet that had the given number of looks.
func (f *compareFlags) duetAgain(dir string, looks int) (*result.Comparison, string, error) {
	policy, err := f.duetPolicy()
	if err != nil {
		return nil, "", err
	}
	measured, err := result.ReadDuet(dir)
	if err != nil {
		return nil, "", err
	}
	if !f.differentSettings {
		if err := checkServers(measured.Sides[duet.Base].Settings, measured.Sides[duet.Change].Settings); err != nil {
			return nil, "", err
		}
	}
	compared, err := described(dir, measured, gate.JudgeDuet(measured, looks, policy))
	return compared, dir, err
}

// expected returns the fixed-work counters that the change declares to differ, from the trailers of
// the commits that the change has and the base does not.
func (b *builder) expected(ctx context.Context, sources [2]source) (map[string]string, error) {
	commits := sources[0].build.Commit + ".." + sources[1].build.Commit
	lines, err := git(ctx, b.root, "log", "--format=%(trailers:key="+result.ExpectedTrailer+",valueonly,unfold)", commits)
	if err != nil {
		return nil, err
	}
	return result.ParseExpected(lines)
}

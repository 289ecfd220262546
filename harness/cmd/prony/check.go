package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/result"
)

func checkCommand() *cobra.Command {
	var baselines, forCI string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [RUN...]",
		Short: "Judge runs by the limits of baselines and scenarios",
		Long: `Compares the metrics of stored runs with the checked-in limits, and reports which limits are broken and where to look.
A metric that is missing, zero or not a number breaks its limit. A run is judged by its scenario's checked-in baseline
and by the "limit" blocks that the scenario's file had when it ran. Every run must have no lost, duplicated or corrupted
task. If a scenario has neither a baseline nor "limit" blocks, only this is judged, and a line says so. The folder
baselines/ may be missing if all runs have "limit" blocks. Soaks and comparisons keep their stored verdict, and a serial
budget has no limits. Without RUN it judges the newest run. An incomplete run is invalid. For published data it prints
the verdicts that the index of the pages shows.`,
		Example: `  prony check
  prony check --json runs/20261121T171500.123Z-smoke
  prony check reports/data/*`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			document, err := check(c, baselines, forCI, runs)
			return finish(c, asJSON, document, err)
		},
	}
	c.Flags().StringVar(&baselines, "baselines", defaultBaselines, "folder of the baselines")
	ciFlag(c, &forCI)
	jsonFlag(c, &asJSON)
	return c
}

func check(c *cobra.Command, baselines, forCI string, runs []string) (*result.Document, error) {
	limits, absent := loadBaselines(baselines)
	if absent != nil && (!errors.Is(absent, fs.ErrNotExist) || c.Flags().Changed("baselines")) {
		return nil, absent
	}
	runs, err := orLatest(runs)
	if err != nil {
		return nil, errors.Join(absent, err)
	}
	var outcomes []result.Outcome
	var judgements []ci.Judgement
	for _, folder := range runs {
		s, err := report.Open(limits, folder)
		if err != nil {
			return nil, errors.Join(absent, err)
		}
		if absent != nil && s.Run != nil && len(s.Run.Manifest.Scenario.Limits) == 0 {
			return nil, absent
		}
		say(c.ErrOrStderr(), "%s", terminal.Check(s.Judged))
		judgements = append(judgements, ci.OfCheck(s.Judged))
		outcomes = append(outcomes, checked(s, folder))
	}
	document := result.NewDocument(outcomes...)
	if forCI != "" {
		return document, ci.Write(forCI, judgements)
	}
	return document, nil
}

func checked(s *report.Stored, folder string) (outcome result.Outcome) {
	switch {
	case s.Run != nil:
		// After judging: the verdict decides which figures may be shown.
		outcome = result.NewOutcome(s.Run, folder)
	case s.Soak != nil:
		return result.NewSoakOutcome(s.Soak, folder)
	default:
		outcome = result.Outcome{Name: s.Judged.Scenario, Verdict: s.Judged.Verdict, Run: folder, Reasons: s.Judged.Reasons}
	}
	outcome.Warnings = append(outcome.Warnings, s.Judged.Warnings...)
	outcome.Limits = s.Judged.Limits()
	return outcome
}

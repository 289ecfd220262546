package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/ci"
	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

func checkCommand() *cobra.Command {
	var baselines, forCI string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check [RUN...]",
		Short: "Judge runs by the floors and ceilings of baselines, and by limits of their scenarios",
		Long: `Compares the metrics of stored runs with the checked-in limits, and says which are broken and where
to look. A metric that is missing, zero or no number breaks its limit. A run is judged by the baseline of its
scenario's name, as it is checked in, and by the "limit" blocks that the scenario's file had when it ran. That no
task is lost, duplicated or corrupted is judged of every run; of a scenario without a baseline and limits of its
own it is all that is judged, and a line says so. A folder baselines/ is not needed where all runs carry limits.
Without RUN it judges the newest run.`,
		Example: `  prony check
  prony check --json runs/20261121T171500.123Z-smoke`,
		ValidArgsFunction: completeRuns,
		RunE: func(c *cobra.Command, runs []string) error {
			document, err := check(c, baselines, forCI, runs)
			return finish(c, asJSON, document, err)
		},
	}
	c.Flags().StringVar(&baselines, "baselines", defaultBaselines, "folder of the limits")
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
		r, _, err := result.Read(folder)
		if err != nil {
			return nil, errors.Join(absent, err)
		}
		if absent != nil && len(r.Manifest.Scenario.Limits) == 0 {
			return nil, absent
		}
		judged := gate.Check(limits, r)
		say(c.ErrOrStderr(), "%s", report.CheckText(judged))
		judgements = append(judgements, ci.OfCheck(judged))
		r.Verdict, r.Reasons = judged.Verdict, judged.Reasons // before the outcome: they decide what may be published
		r.Warnings = append(r.Warnings, judged.Warnings...)
		outcome := result.NewOutcome(r, folder)
		outcome.Limits = judged.Limits()
		outcomes = append(outcomes, outcome)
	}
	document := result.NewDocument(outcomes...)
	if forCI != "" {
		return document, ci.Write(forCI, judgements)
	}
	return document, nil
}

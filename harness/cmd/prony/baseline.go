package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

func baselineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Keep baselines in line with what runs observed",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(proposeCommand())
	return c
}

func proposeCommand() *cobra.Command {
	var baselines string
	var write, asJSON bool
	c := &cobra.Command{
		Use:   "propose [RUN...]",
		Short: "Say what runs observed of the limits of their baselines",
		Long: `Compares the observed figure of each limit with that of stored runs, and says what differs. With --write
it changes the files. The limits stay: a person chooses them. Without RUN it takes the newest run.`,
		Example: `  prony baseline propose
  prony baseline propose --write reports/data/*`,
		RunE: func(c *cobra.Command, runs []string) error {
			document, err := propose(c, baselines, runs, write)
			return finish(c, asJSON, document, err)
		},
	}
	c.Flags().StringVar(&baselines, "baselines", "baselines", "folder of the limits")
	c.Flags().BoolVar(&write, "write", false, "write the figures into the files")
	jsonFlag(c, &asJSON)
	return c
}

func propose(c *cobra.Command, baselines string, runs []string, write bool) (*result.Document, error) {
	limits, err := gate.LoadBaselines(baselines)
	if err != nil {
		return nil, err
	}
	if runs, err = orLatest(runs); err != nil {
		return nil, err
	}
	for _, folder := range runs {
		r, _, err := result.Read(folder)
		if err != nil {
			return nil, err
		}
		if err := proposeRun(c, limits, r, write); err != nil {
			return nil, err
		}
	}
	return &result.Document{Verdict: result.Pass, Scenarios: []result.Outcome{}}, nil
}

func proposeRun(c *cobra.Command, limits *gate.Baselines, r *result.Result, write bool) error {
	baseline, found := limits.For(r.Scenario)
	if !found {
		say(c.ErrOrStderr(), "%s: no baseline", r.Scenario)
		return nil
	}
	src, err := os.ReadFile(baseline.File)
	if err != nil {
		return fmt.Errorf("read the baseline of %s: %w", r.Scenario, err)
	}
	text, changes, err := gate.Propose(src, baseline.File, baseline, r)
	if err != nil {
		return err
	}
	for _, change := range changes {
		from := change.From
		if from == "" {
			from = "nothing"
		}
		say(c.ErrOrStderr(), "%s: %s: %s, was %s", r.Scenario, change.Limit, change.To, from)
	}
	if !write || len(changes) == 0 {
		return nil
	}
	return result.WriteFile(baseline.File, text)
}

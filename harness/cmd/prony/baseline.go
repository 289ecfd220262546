package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

func baselineCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Explain limits, and keep them in line with what runs observed",
		Args:  cobra.NoArgs,
	}
	c.AddCommand(proposeCommand(), baselineExplainCommand())
	return c
}

func proposeCommand() *cobra.Command {
	var baselines string
	var write, asJSON bool
	c := &cobra.Command{
		Use:   "propose [RUN|FILE.hcl...]",
		Short: "Say what runs observed of the limits of their baselines",
		Long: `Compares the observed figure of each limit with that of stored runs, and says what differs. With --write
it changes the files. The limits stay: a person chooses them. Without RUN it takes the newest run.

Each baseline names the configuration that its limits were set for: a hash of the scenario's topology,
workloads, phases and other settings that change what is measured. "prony check" refuses a run whose hash
differs. Given a scenario's file, FILE.hcl, this command compares the two hashes, and with --write stores
the new one. First make sure that the limits still suit the changed scenario.`,
		Example: `  prony baseline propose
  prony baseline propose --write reports/data/*
  prony baseline propose --write scenarios/smoke.hcl`,
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
		if strings.HasSuffix(folder, ".hcl") {
			if err := proposeConfigurations(c, limits, folder, write); err != nil {
				return nil, err
			}
			continue
		}
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

// proposeConfigurations compares the configurations of the scenarios of a file with those that their baselines are for.
func proposeConfigurations(c *cobra.Command, limits *gate.Baselines, file string, write bool) error {
	scenarios, err := scenario.LoadChecked(nil, gate.CheckLimit, file)
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		err := proposeTo(c, limits, s.Name, write, func(src []byte, b gate.Baseline) ([]byte, []gate.Change, error) {
			return gate.ProposeConfiguration(src, b.File, b, s)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func proposeRun(c *cobra.Command, limits *gate.Baselines, r *result.Result, write bool) error {
	return proposeTo(c, limits, r.Scenario, write, func(src []byte, b gate.Baseline) ([]byte, []gate.Change, error) {
		return gate.Propose(src, b.File, b, r)
	})
}

// proposeTo says what changes of the baseline of a scenario, and writes it if write.
func proposeTo(c *cobra.Command, limits *gate.Baselines, name string, write bool,
	change func(src []byte, b gate.Baseline) ([]byte, []gate.Change, error),
) error {
	baseline, found := limits.For(name)
	if !found {
		say(c.ErrOrStderr(), "%s: no baseline", name)
		return nil
	}
	src, err := os.ReadFile(baseline.File)
	if err != nil {
		return fmt.Errorf("read the baseline of %s: %w", name, err)
	}
	text, changes, err := change(src, baseline)
	if err != nil {
		return err
	}
	for _, change := range changes {
		from := change.From
		if from == "" {
			from = "nothing"
		}
		say(c.ErrOrStderr(), "%s: %s: %s, was %s", name, change.Limit, change.To, from)
	}
	if !write || len(changes) == 0 {
		return nil
	}
	return result.WriteFile(baseline.File, text)
}

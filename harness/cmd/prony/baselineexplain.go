package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/terminal"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// limitsExplained is what `prony baseline explain --json` prints.
type limitsExplained struct {
	Scenarios []gate.ExplainedLimits `json:"scenarios"`
}

func baselineExplainCommand() *cobra.Command {
	var baselines, scenarios string
	var asJSON bool
	c := &cobra.Command{
		Use:   "explain [FILE|SCENARIO...]",
		Short: "Explain the limits of scenarios and their margins",
		Long: `For each limit, prints what its metric means and its unit, the bound, the observed value and its host, how much worse
the value must get to break the limit, and the reason for the limit.

A floor is the minimum of a metric, a ceiling the maximum. The limits of a scenario are in its baseline, in "limit"
blocks of its own file, or in both. The ceilings of 0 on lost, duplicated and corrupted tasks apply to every scenario
and are in no file. An absolute limit is a number and depends on the speed of the host. A relative limit is a multiple
of another figure of the same run, so it also holds on other hosts.

A baseline applies to one configuration: a hash of what the scenario measures. If the scenario's file now has another
hash, the command reports it, because "prony check" rejects such a run until somebody reviews the limits.

FILE is a baseline or a scenario file; SCENARIO is a name. Without arguments it explains all limits. It starts nothing.`,
		Example: `  prony baseline explain smoke
  prony baseline explain --json baselines/full-cycle.hcl`,
		ValidArgsFunction: completeNames,
		RunE: func(c *cobra.Command, wanted []string) error {
			all, err := explainLimits(baselines, scenarios, wanted)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, all)
			}
			var texts []string
			for _, e := range all.Scenarios {
				texts = append(texts, terminal.Limits(e))
			}
			if _, err := io.WriteString(c.OutOrStdout(), strings.Join(texts, "\n")); err != nil {
				return fmt.Errorf("write the explanation: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&baselines, "baselines", defaultBaselines, "folder of the baselines")
	c.Flags().StringVar(&scenarios, "scenarios", defaultScenarios, "folder of the scenario files")
	jsonFlag(c, &asJSON)
	return c
}

// explainLimits explains the limits of the given scenarios. Without names it explains all scenarios
// that have a baseline or "limit" blocks.
func explainLimits(baselines, dir string, wanted []string) (limitsExplained, error) {
	none := limitsExplained{}
	limits, err := loadBaselines(baselines)
	if err != nil {
		return none, err
	}
	files, err := findScenarios(dir)
	if err != nil {
		return none, err
	}
	for _, name := range wanted { // a scenario file may be outside the folder
		if strings.HasSuffix(name, ".hcl") && !isBaseline(limits, name) && !slices.ContainsFunc(files, func(f string) bool { return samePath(f, name) }) {
			files = append(files, name)
		}
	}
	scenarios, err := scenario.LoadChecked(nil, scenarioChecks, files...)
	if err != nil {
		return none, err
	}
	all := limitsExplained{Scenarios: []gate.ExplainedLimits{}}
	var names []string
	met := make([]bool, len(wanted))
	add := func(b gate.Baseline, s *scenario.Scenario) {
		e := gate.ExplainLimits(b, s)
		names = append(names, e.Scenario)
		take := len(wanted) == 0
		for i, want := range wanted {
			if want == e.Scenario || e.File != "" && samePath(want, e.File) || e.Baseline != "" && samePath(want, e.Baseline) {
				take, met[i] = true, true
			}
		}
		if take {
			all.Scenarios = append(all.Scenarios, e)
		}
	}
	for _, b := range limits.All() {
		i := slices.IndexFunc(scenarios, func(s *scenario.Scenario) bool { return s.Name == b.Scenario })
		if i < 0 {
			add(b, nil)
		} else {
			add(b, scenarios[i])
		}
	}
	for _, s := range scenarios {
		if _, has := limits.For(s.Name); !has && (len(s.Limits) > 0 || len(wanted) > 0) {
			add(gate.Baseline{}, s)
		}
	}
	for i, want := range wanted {
		if !met[i] {
			return none, fmt.Errorf("%s is neither a scenario nor a file of limits: %s", want, hclfile.Suggest(want, names))
		}
	}
	slices.SortStableFunc(all.Scenarios, func(a, b gate.ExplainedLimits) int { return strings.Compare(a.Scenario, b.Scenario) })
	return all, nil
}

func isBaseline(limits *gate.Baselines, path string) bool {
	return slices.ContainsFunc(limits.All(), func(b gate.Baseline) bool { return samePath(b.File, path) })
}

func samePath(a, b string) bool { return filepath.Clean(a) == filepath.Clean(b) }

func baselineCommand(args []string) *cobra.Command {
	c := &cobra.Command{
		Use:   "baseline",
		Short: "Explain limits, record observed values, and move the baseline build",
		Example: `  prony baseline explain smoke
  prony baseline propose
  prony baseline move HEAD --because "release 0.3"`,
	}
	c.AddCommand(proposeCommand(), baselineExplainCommand(), baselineMoveCommand(args, compareCommits))
	return c
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// validation is what `prony validate --json` prints.
type validation struct {
	Valid     bool              `json:"valid"`
	Scenarios []namedScenario   `json:"scenarios"` // empty unless all are valid
	Problems  []scenarioProblem `json:"problems"`
	Omitted   int               `json:"omitted,omitempty"` // problems beyond those listed
}

type namedScenario struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// scenarioProblem is one error of a file. Line and column count from 1, in characters; 0 means
// that the problem applies to the whole file.
type scenarioProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

func validateCommand() *cobra.Command {
	var v vars
	var asJSON bool
	c := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Report all errors of scenario files",
		Long: `Reads scenario files and their includes, and lists all errors in one pass, each with its location, the line and a remedy.
It starts nothing. The exit code is 2 if there is any error.`,
		Example: `  prony validate scenarios/*.hcl
  prony validate --json --var rate=20k/s scenarios/open-half.hcl`,
		Args:              scenarioFiles.check,
		ValidArgsFunction: completeScenarioFiles,
		RunE: func(c *cobra.Command, files []string) error {
			scenarios, err := v.load(files)
			var diagnostics *scenario.Diagnostics
			switch {
			case err != nil && !errors.As(err, &diagnostics):
				return err
			case asJSON:
				if err := printJSON(c, validationOf(scenarios, diagnostics)); err != nil {
					return err
				}
			case err != nil:
				say(c.ErrOrStderr(), "%v", err)
			default:
				for _, s := range scenarios {
					say(c.OutOrStdout(), "%s: %s is valid", s.File, s.Name)
				}
			}
			if err != nil {
				return verdictError{result.Misconfigured}
			}
			return nil
		},
	}
	v.flag(c)
	jsonFlag(c, &asJSON)
	return c
}

func validationOf(scenarios []*scenario.Scenario, diagnostics *scenario.Diagnostics) validation {
	v := validation{Valid: diagnostics == nil, Scenarios: []namedScenario{}, Problems: []scenarioProblem{}}
	for _, s := range scenarios {
		v.Scenarios = append(v.Scenarios, namedScenario{s.Name, s.File})
	}
	if diagnostics != nil {
		v.Omitted = diagnostics.Omitted
		for _, p := range diagnostics.Problems {
			v.Problems = append(v.Problems, scenarioProblem{p.Subject.Filename, p.Subject.Start.Line, p.Subject.Start.Column, p.Summary, p.Detail})
		}
	}
	return v
}

func printJSON(c *cobra.Command, document any) error {
	encoder := json.NewEncoder(c.OutOrStdout())
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the JSON document: %w", err)
	}
	return nil
}

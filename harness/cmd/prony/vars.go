package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// vars are the values of variables on the command line.
type vars struct{ given []string }

func (v *vars) flag(c *cobra.Command) {
	c.Flags().StringArrayVar(&v.given, "var", nil, "value of a variable of the files, as NAME=VALUE; may be repeated")
}

// buildingCommands build the servers of topologies with a build block.
var buildingCommands = []string{"prony run", "prony guard"}

// loadFor is load for a command that measures rounds. It rejects soaks, which have no rounds, and
// topologies with a build block unless the command builds servers.
func (v *vars) loadFor(command string, files []string) ([]*scenario.Scenario, error) {
	scenarios, err := v.load(files)
	for _, s := range scenarios {
		err = errors.Join(err, s.SoakProblem(command))
		if !slices.Contains(buildingCommands, command) {
			err = errors.Join(err, s.BuildProblem(command))
		}
	}
	if err != nil {
		return nil, err
	}
	return scenarios, nil
}

// scenarioChecks are the checks that package scenario cannot do alone.
var scenarioChecks = scenario.Checks{Limit: gate.CheckLimit, Setting: topology.CheckSetting}

// load reads scenario files with the given variables, and checks their limits.
func (v *vars) load(files []string) ([]*scenario.Scenario, error) {
	values := map[string]string{}
	for _, given := range v.given {
		name, value, ok := strings.Cut(given, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--var %q must be NAME=VALUE, such as --var workers=64", given)
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("--var sets %q twice; keep one of the two", name)
		}
		values[name] = value
	}
	scenarios, err := scenario.LoadChecked(values, scenarioChecks, files...)
	if other := otherFiles(files); err != nil && other != "" {
		return nil, fmt.Errorf("%w%s", err, other)
	}
	return scenarios, err
}

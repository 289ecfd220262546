package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// explanation is what `prony explain --json` prints.
type explanation struct {
	Scenarios []explained `json:"scenarios"`
	// SecondsExpected is the expected duration of all scenarios in sequence.
	SecondsExpected float64 `json:"seconds_expected"`
}

type explained struct {
	Scenario *scenario.Scenario `json:"scenario"` // as in a run's manifest
	Points   []explainedPoint   `json:"points"`
	// of a soak, instead of rounds
	SoakWindows     int `json:"soak_windows,omitempty"`
	RoundsTimed     int `json:"rounds_timed"`
	RoundsProfiled  int `json:"rounds_profiled"`
	RoundsCalibrate int `json:"rounds_calibrating"`
	// RoundsRepeatedMax is the maximum number of repeated invalid rounds.
	RoundsRepeatedMax int     `json:"rounds_repeated_max"`
	SecondsExpected   float64 `json:"seconds_expected"`
	// without starting and stopping the topology
	SecondsAtMost float64      `json:"seconds_at_most"`
	Percentiles   []percentile `json:"percentiles"`
	// at a level of 5 % with a power of 80 %; empty if the rounds are too few
	Effects []smallest `json:"effects"`
}

// explainedPoint is one combination of swept values. Its name is empty without a sweep.
type explainedPoint struct {
	Name string `json:"name"`
	// TasksPerWindow is the number of tasks sent in a window, if it does not depend on the server.
	TasksPerWindow float64 `json:"tasks_per_window,omitempty"`
}

// percentile says how many cycles a point's timed windows must have together, so that the
// percentile's 95 % interval is bounded.
type percentile struct {
	Percentile float64 `json:"percentile"`
	CyclesMin  int     `json:"cycles_min"`
	CyclesPerS float64 `json:"cycles_per_s_min"`
	// each point sends at least CyclesMin, independent of the server
	Offered bool `json:"offered"`
}

// smallest is the smallest change that a comparison with the scenario's rounds can detect.
type smallest struct {
	Spread float64 `json:"spread"` // standard deviation of the ratio of two paired rounds
	Effect float64 `json:"effect"`
}

// effectLevel is the significance level: the probability that pure noise is called an effect.
const effectLevel = 0.05

var (
	percentilesExplained = []float64{50, 90, 99, 99.9, 99.99}
	spreadsExplained     = []float64{0.01, 0.02, 0.05}
)

func explainCommand() *cobra.Command {
	var v vars
	var all, asJSON bool
	c := &cobra.Command{
		Use:   "explain FILE...",
		Short: "Explain what a run of scenario files does, how long it takes and what it can show",
		Long: `Prints the expanded plan of each scenario with all defaults: its points and rounds, their duration, the number of cycles
that the percentiles need, and the smallest change that a comparison with this number of rounds can detect. It starts
nothing. --all prints the duration of each scenario in scenarios/, and of all together.`,
		Example: `  prony explain scenarios/full-cycle.hcl
  prony explain --all
  prony explain --json --var rate=20k/s scenarios/open-half.hcl`,
		Args: func(c *cobra.Command, files []string) error {
			if !all {
				return scenarioFiles.check(c, files)
			}
			if len(files) > 0 {
				return fmt.Errorf("--all uses the scenarios of %s/: leave out %s", defaultScenarios, files[0])
			}
			return nil
		},
		ValidArgsFunction: completeScenarioFiles,
		RunE: func(c *cobra.Command, files []string) error {
			var err error
			if all {
				if files, err = findScenarios(defaultScenarios); err != nil {
					return err
				}
			}
			scenarios, err := v.load(files)
			if err != nil {
				return err
			}
			of := explanation{}
			for _, s := range scenarios {
				of.Scenarios = append(of.Scenarios, explain(s))
				of.SecondsExpected += s.Expected().Seconds()
			}
			switch {
			case asJSON:
				return printJSON(c, of)
			case all:
				return writeTimes(c, scenarios)
			}
			var text strings.Builder
			for i, s := range scenarios {
				if i > 0 {
					text.WriteString("\n")
				}
				writeExplanation(&text, s, of.Scenarios[i])
			}
			if _, err := io.WriteString(c.OutOrStdout(), text.String()); err != nil {
				return fmt.Errorf("write the explanation: %w", err)
			}
			return nil
		},
	}
	v.flag(c)
	c.Flags().BoolVar(&all, "all", false, "print the duration of each scenario of scenarios/, and of all together")
	jsonFlag(c, &asJSON)
	return c
}

// writeTimes prints the duration of each scenario, and of all in sequence.
func writeTimes(c *cobra.Command, scenarios []*scenario.Scenario) error {
	var rows [][]string
	var points, rounds int
	var took time.Duration
	for _, s := range scenarios {
		planned := s.PlannedRounds().Total()
		rows = append(rows, []string{s.Name, render.Count(len(s.Plan())), render.Count(planned), roughly(s.Expected()), s.File})
		points, rounds, took = points+len(s.Plan()), rounds+planned, took+s.Expected()
	}
	rows = append(rows, []string{"all of them", render.Count(points), render.Count(rounds), roughly(took), ""})
	return table(c, []string{"NAME", "POINTS", "ROUNDS", "TIME", "FILE"}, rows)
}

func explain(s *scenario.Scenario) explained {
	rounds := s.PlannedRounds()
	e := explained{
		Scenario: s, RoundsTimed: rounds.Timed, RoundsProfiled: rounds.Profiled, RoundsCalibrate: rounds.Calibrating,
		SecondsExpected: s.Expected().Seconds(), SecondsAtMost: s.Duration().Seconds(),
		RoundsRepeatedMax: s.RepeatsMax(), Percentiles: []percentile{}, Effects: []smallest{},
	}
	measured := (time.Duration(s.Rounds) * s.Phases.Window).Seconds() // at each point
	// Tasks sent to each point in all windows.
	least := math.Inf(1)
	for _, p := range s.Plan() {
		point := explainedPoint{Name: p.Name}
		point.TasksPerWindow, _ = p.Offered(s.Phases.Window) // 0 if unknown
		least = min(least, point.TasksPerWindow*float64(s.Rounds))
		e.Points = append(e.Points, point)
	}
	if s.Soak != nil {
		e.SoakWindows, e.RoundsTimed = s.SoakWindows(s.Soak.For), 0
		return e
	}
	for _, p := range percentilesExplained {
		n := scenario.IntervalCycles(p)
		e.Percentiles = append(e.Percentiles, percentile{p, n, float64(n) / measured, least >= float64(n)})
	}
	for _, spread := range spreadsExplained {
		// An error means that the rounds are too few.
		if effect, err := stat.Detectable(s.Rounds, spread, effectLevel); err == nil {
			e.Effects = append(e.Effects, smallest{spread, effect})
		}
	}
	return e
}

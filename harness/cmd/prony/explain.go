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
	// SecondsExpected is how long the scenarios take one after the other.
	SecondsExpected float64 `json:"seconds_expected"`
}

type explained struct {
	Scenario        *scenario.Scenario `json:"scenario"` // as in a run's manifest
	Points          []explainedPoint   `json:"points"`
	SoakWindows     int                `json:"soak_windows,omitempty"` // of a soak, which has no rounds
	RoundsTimed     int                `json:"rounds_timed"`
	RoundsProfiled  int                `json:"rounds_profiled"`
	RoundsCalibrate int                `json:"rounds_calibrating"`
	// RoundsRepeatedMax is how many repetitions of invalid rounds there are at most.
	RoundsRepeatedMax int          `json:"rounds_repeated_max"`
	SecondsExpected   float64      `json:"seconds_expected"`
	SecondsAtMost     float64      `json:"seconds_at_most"` // starting and stopping the topology comes on top
	Percentiles       []percentile `json:"percentiles"`
	Effects           []smallest   `json:"effects"` // at a level of 5 %, 80 times in 100; empty where the rounds are too few for any
}

// explainedPoint is one combination of swept values; its name is empty where nothing is swept.
type explainedPoint struct {
	Name string `json:"name"`
	// TasksPerWindow is what is sent in a window whatever the server does; absent where that depends on it.
	TasksPerWindow float64 `json:"tasks_per_window,omitempty"`
}

// percentile says what it takes for its 95 % interval to have an end, in the timed windows of a point together.
type percentile struct {
	Percentile float64 `json:"percentile"`
	CyclesMin  int     `json:"cycles_min"`
	CyclesPerS float64 `json:"cycles_per_s_min"`
	Offered    bool    `json:"offered"` // whether each point is sent as many, whatever the server does
}

// smallest is the smallest change that a comparison of the scenario's rounds tells from chance.
type smallest struct {
	Spread float64 `json:"spread"` // of the ratios of two rounds side by side
	Effect float64 `json:"effect"`
}

// effectLevel is how often a test that finds nothing but noise may call it an effect.
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
		Short: "Say what a run of scenario files would do, how long it takes and what it can show",
		Long: `Prints the expanded plan of each scenario, every default filled in: its points and rounds, how long they take, how
many cycles the percentiles need, and the smallest change that a comparison of so many rounds tells from chance. Nothing
is started. --all takes the scenarios of scenarios/ and prints how long each of them takes, and all.`,
		Example: `  prony explain scenarios/full-cycle.hcl
  prony explain --all
  prony explain --json --var rate=20k/s scenarios/open-half.hcl`,
		Args: func(c *cobra.Command, files []string) error {
			if !all {
				return scenarioFiles.check(c, files)
			}
			if len(files) > 0 {
				return fmt.Errorf("--all takes the scenarios of %s/: leave out %s", defaultScenarios, files[0])
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
	c.Flags().BoolVar(&all, "all", false, "print how long each scenario of scenarios/ takes, and all of them")
	jsonFlag(c, &asJSON)
	return c
}

// writeTimes prints how long scenarios take, and all of them one after the other.
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
	measured := (time.Duration(s.Rounds) * s.Phases.Window).Seconds() // of each point
	least := math.Inf(1)                                              // how many tasks each point is sent in all of them
	for _, p := range s.Plan() {
		point := explainedPoint{Name: p.Name}
		point.TasksPerWindow, _ = p.Offered(s.Phases.Window) // 0 where it is not known
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
		if effect, err := stat.Detectable(s.Rounds, spread, effectLevel); err == nil { // else the rounds are too few
			e.Effects = append(e.Effects, smallest{spread, effect})
		}
	}
	return e
}

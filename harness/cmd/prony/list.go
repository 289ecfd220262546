package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// listing is what `prony list --json` prints.
type listing struct {
	Scenarios []listedScenario `json:"scenarios"`
}

type listedScenario struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Tags       []string `json:"tags"`
	File       string   `json:"file"`
	Topology   string   `json:"topology"` // topology of the first point
	Durability string   `json:"durability"`
	Points     int      `json:"points"`
	// of all points, including profiled and calibrating rounds
	Rounds          int     `json:"rounds"`
	SecondsExpected float64 `json:"seconds_expected"`
}

func listCommand() *cobra.Command {
	var v vars
	var tags []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [DIR...]",
		Short: "List the scenarios of folders",
		Long: `Lists the scenarios in the .hcl files of folders and their subfolders: name, duration of a run, topology, tags and title.
Without DIR it lists those in scenarios/. It skips files without a scenario, which other files include. A tag that no
scenario has is an error, which lists the existing tags.`,
		Example: `  prony list
  prony list --tag smoke --json scenarios`,
		RunE: func(c *cobra.Command, dirs []string) error {
			if len(dirs) == 0 {
				dirs = []string{defaultScenarios}
			}
			files, err := findScenarios(dirs...)
			if err != nil {
				return err
			}
			scenarios, err := v.load(files)
			if err != nil {
				return err
			}
			if scenarios, err = tagged(scenarios, tags, dirs); err != nil {
				return err
			}
			if len(scenarios) == 0 {
				say(c.ErrOrStderr(), "no scenario in %s has all of the tags %s", strings.Join(dirs, ", "), strings.Join(tags, ", "))
			}
			if asJSON {
				return printJSON(c, listingOf(scenarios))
			}
			if len(scenarios) == 0 {
				return nil
			}
			return writeList(c, scenarios)
		},
	}
	v.flag(c)
	c.Flags().StringArrayVar(&tags, "tag", nil, "list only scenarios with this tag; with several, those with all of them")
	jsonFlag(c, &asJSON)
	completeFlag(c, "tag", completeTags)
	return c
}

// tagged returns the scenarios that have all of the tags. A tag that no scenario has is an error,
// because it is probably misspelt.
func tagged(scenarios []*scenario.Scenario, tags, dirs []string) ([]*scenario.Scenario, error) {
	known := tagsOf(scenarios)
	for _, tag := range tags {
		if slices.Contains(known, tag) {
			continue
		}
		return nil, fmt.Errorf("--tag %q: no scenario in %s has that tag; %s", tag, strings.Join(dirs, ", "), tagRemedy(tag, known))
	}
	return slices.DeleteFunc(scenarios, func(s *scenario.Scenario) bool {
		return slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(s.Tags, tag) })
	}), nil
}

// tagRemedy lists the existing tags, and suggests the nearest one.
func tagRemedy(tag string, known []string) string {
	if len(known) == 0 {
		return "none of them has a tag"
	}
	return whichOf(tag, known)
}

// whichOf lists the existing names, and suggests the nearest one.
func whichOf(name string, known []string) string {
	remedy := "there are " + hclfile.List(known)
	if meant := hclfile.Nearest(name, known); meant != "" {
		remedy = fmt.Sprintf("did you mean %q? ", meant) + remedy
	}
	return remedy
}

func tagsOf(scenarios []*scenario.Scenario) (tags []string) {
	for _, s := range scenarios {
		tags = append(tags, s.Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

func listingOf(scenarios []*scenario.Scenario) listing {
	l := listing{Scenarios: []listedScenario{}}
	for _, s := range scenarios {
		l.Scenarios = append(l.Scenarios, listedScenario{
			Name: s.Name, Title: s.Title, Tags: append([]string{}, s.Tags...), File: s.File,
			Topology: s.Topology.String(), Durability: s.Topology.Durability,
			Points: len(s.Plan()), Rounds: s.PlannedRounds().Total(), SecondsExpected: s.Expected().Seconds(),
		})
	}
	return l
}

func writeList(c *cobra.Command, scenarios []*scenario.Scenario) error {
	var rows [][]string
	for _, s := range scenarios {
		rows = append(rows, []string{s.Name, roughly(s.Expected()), s.Topology.String(), strings.Join(s.Tags, " "), s.Title})
	}
	return table(c, []string{"NAME", "TIME", "TOPOLOGY", "TAGS", "TITLE"}, rows)
}

// roughly formats a duration with the precision of an estimate.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	}
	return fmt.Sprintf("%.1fh", d.Hours())
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/report/historypage"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// trackedSeries is what `prony history --json` prints.
type trackedSeries struct {
	Series []history.Tracked `json:"series"`
	// BaselineBuilds are those of baselines/build.hcl, the oldest first. BaselineProducts are the
	// products of the ratios of all moves. Both are empty without the file.
	BaselineBuilds   []baselinebuild.Build   `json:"baseline_builds,omitempty"`
	BaselineProducts []baselinebuild.Product `json:"baseline_products,omitempty"`
}

func historyCommand() *cobra.Command {
	var folder, baselines string
	var asJSON bool
	c := &cobra.Command{
		Use:   "history [SCENARIO...]",
		Short: "Show the headline figures of published results over commits, with change points, and the moves of the baseline build",
		Long: `Shows the records of published results. For each series of comparable records it shows the figures of the newest record, the
drift since the last tag (without a tag, since the first record), and the change points with their commits. Without SCENARIO it shows all scenarios.

Records with another host class, CPU model, durability or other settings form a separate series. A change point needs at least 5
records on each side, so a series of fewer than 12 has none. Records are stored for every verdict, and each series marks the
records that do not pass, by the limits at the time of publication. Each published result adds its records (prony publish, prony
report --publish). Nothing is judged: the exit code is always 0.

Before the series it shows the build that speed limits are relative to, and each move of it (prony baseline move) with the measured
ratios. The product of a figure's ratios over all moves is the total change, shown with the best value it ever had.`,
		Example: `  prony history full-cycle
  prony history --json`,
		ValidArgsFunction: func(_ *cobra.Command, given []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeRecorded(folder, given, begun), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, names []string) error {
			all, err := loadHistory(folder, names)
			if err != nil {
				return err
			}
			builds, err := loadBaselineBuilds(baselines)
			if err != nil {
				return err
			}
			if asJSON {
				shown := trackedSeries{Series: all}
				if builds != nil {
					shown.BaselineBuilds, shown.BaselineProducts = builds.Builds, builds.Products()
				}
				return printJSON(c, shown)
			}
			page := historypage.BaselineBuilds(builds)
			if len(all) == 0 {
				say(c.ErrOrStderr(), "there is no record in %s: prony publish and prony report --publish add records", folder)
			} else {
				page = historypage.Brief(all, builds)
			}
			if _, err := fmt.Fprint(c.OutOrStdout(), page.Terminal()); err != nil {
				return fmt.Errorf("print the history: %w", err)
			}
			return nil
		},
	}
	historyFlag(c, &folder)
	buildsFlag(c, &baselines)
	jsonFlag(c, &asJSON)
	c.AddCommand(historyPageCommand())
	return c
}

func historyFlag(c *cobra.Command, folder *string) {
	c.Flags().StringVar(folder, "history", historypage.Folder(defaultReports), "folder of the records")
}

// buildsFlag adds --baselines to a command that only needs the baseline builds.
func buildsFlag(c *cobra.Command, baselines *string) {
	c.Flags().StringVar(baselines, "baselines", defaultBaselines, "folder of "+baselinebuild.FileName+", which names the baseline builds")
}

// loadBaselineBuilds returns the baseline builds of a folder, or nil if the folder has no such
// file.
func loadBaselineBuilds(folder string) (*baselinebuild.File, error) {
	path := filepath.Join(folder, baselinebuild.FileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return baselinebuild.Read(path)
}

// loadHistory returns the series of the named scenarios, or of all scenarios without a name. A name
// without a record is an error.
func loadHistory(folder string, names []string) ([]history.Tracked, error) {
	records, err := history.ReadAll(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noHistory(folder)
	}
	if err != nil {
		return nil, err
	}
	var known []string
	for _, r := range records {
		known = append(known, r.Scenario)
	}
	known = slices.Compact(known) // records are sorted by scenario
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no record of a scenario %q in %s: %s", name, folder, hclfile.Suggest(name, known))
		}
	}
	if len(names) > 0 {
		records = slices.DeleteFunc(records, func(r history.Record) bool { return !slices.Contains(names, r.Scenario) })
	}
	return history.TrackAll(history.Group(records))
}

func noHistory(folder string) error {
	return &absentError{fmt.Sprintf(`there is no folder %q, which the records of published results are read from (--history)
  name the folder with --history, or work in the root of Prony's repository, which has one`, folder)}
}

// completeRecorded completes the names of scenarios with records.
func completeRecorded(folder string, given []string, begun string) (names []cobra.Completion) {
	records, _ := history.ReadAll(folder) // no completion after an error
	for _, r := range records {
		if strings.HasPrefix(r.Scenario, begun) && !slices.Contains(given, r.Scenario) && !slices.Contains(names, r.Scenario) {
			names = append(names, r.Scenario)
		}
	}
	return names
}

func historyPageCommand() *cobra.Command {
	var folder, baselines, out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "page",
		Short: "Write the page of the history, with plots",
		Long: `Writes history.md from the records of published results and the moves of the baseline build, and a plot of each series with at
least two records to history/. Removes the plots of an earlier page. The same records always produce the same bytes. Prints the path of the page.`,
		Example: "  prony history page --out reports",
		Args:    noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			builds, err := loadBaselineBuilds(baselines)
			if err != nil {
				return err
			}
			files, err := historypage.Render(folder, builds, out)
			if errors.Is(err, fs.ErrNotExist) {
				return noHistory(folder)
			}
			if err != nil {
				return err
			}
			return finishPage(c, asJSON, folder, files)
		},
	}
	historyFlag(c, &folder)
	buildsFlag(c, &baselines)
	c.Flags().StringVar(&out, "out", defaultReports, "folder for the page")
	jsonFlag(c, &asJSON)
	return c
}

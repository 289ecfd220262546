package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// resampleSetsMax is the maximum of --sets: a set of eight scenarios takes a few milliseconds.
const resampleSetsMax = 100_000

func resampleCommand() *cobra.Command {
	var baselines string
	var sets int
	var seed uint64
	var asJSON bool
	c := &cobra.Command{
		Use:   "resample FOLDER...",
		Short: "Estimate the false-alarm rate of prony guard from stored generations",
		Long: `Reads the duets that prony guard stored in the run folders in each FOLDER, and draws sets of duets from them. For each scenario it draws,
with replacement, as many generations as prony guard measures. It judges each set by the limits as prony guard does, and draws more
generations while a ratio is undecided. If the build is as fast as the baseline build, the share of sets that do not pass is the
false-alarm rate of these scenarios under the conditions of the measurement. A useful estimate needs a few dozen stored generations of each scenario.

Scenarios that run in rounds are not drawn. The exit code does not depend on the share.`,
		Example: `  prony gate resample runs
  prony gate resample --sets 10000 --json runs/smoke-trials/quiet`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, folders []string) error {
			if sets < 1 || sets > resampleSetsMax {
				return fmt.Errorf("--sets is %d: use 1 to %d", sets, resampleSetsMax)
			}
			limits, err := loadBaselines(baselines)
			if err != nil {
				return err
			}
			duets, err := storedDuets(folders)
			if err != nil {
				return err
			}
			plan := gate.ResamplePlan{Sets: sets, PerLook: guardPerLook, Looks: guardLooks, Seed: seed}
			resampled, err := gate.Resample(limits, duets, plan)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, resampled)
			}
			return writeResampled(c.OutOrStdout(), resampled)
		},
	}
	c.Flags().StringVar(&baselines, "baselines", defaultBaselines, "folder of the limits")
	c.Flags().IntVar(&sets, "sets", 1000, "number of sets to draw")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the random numbers; the same seed draws the same sets")
	jsonFlag(c, &asJSON)
	return c
}

// storedDuets reads the duets in the run folders of each folder.
func storedDuets(folders []string) (duets []*result.Duet, err error) {
	for _, folder := range folders {
		files, err := result.Glob(filepath.Join(folder, "*", result.DuetFile))
		if err != nil {
			return nil, fmt.Errorf("find duets in %s: %w", folder, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no run folder with a %s: name a folder that prony guard --out wrote to", folder, result.DuetFile)
		}
		for _, file := range files {
			d, err := result.ReadDuet(filepath.Dir(file))
			if err != nil {
				return nil, err
			}
			duets = append(duets, d)
		}
	}
	return duets, nil
}

func writeResampled(to io.Writer, r gate.Resampled) error {
	t := render.Table{Header: []string{"scenario", "generations measured", "drawn for each set", "sets that did not pass"}}
	var reasons strings.Builder
	for _, s := range r.Scenarios {
		failed := r.Sets - s.Verdicts[result.Pass]
		t.Rows = append(t.Rows, []string{
			s.Scenario, render.Count(s.Generations), render.Digits(float64(s.Drawn)/float64(r.Sets), 3), render.Count(failed),
		})
		if failed > 0 {
			fmt.Fprintf(&reasons, "%s: %s\n", s.Scenario, s.Reason)
		}
	}
	if _, err := fmt.Fprintf(to, "%s\n%s%s of %s did not pass\n", t.Text(""), reasons.String(), render.Count(r.NotPassed), render.Plural(r.Sets, "set")); err != nil {
		return fmt.Errorf("print the verdicts: %w", err)
	}
	return nil
}

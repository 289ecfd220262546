package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/experiment"
	"github.com/pronybench/prony/harness/report/experimentspage"
	"github.com/pronybench/prony/harness/result"
)

func ratchetPageCommand() *cobra.Command {
	var file, out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "page",
		Short: "Write the page of all experiments, kept and rejected",
		Long: `Writes experiments.md, and experiments.svg if an experiment has a score, from the file of the experiments. The same file always
produces the same bytes. Prints the path of the page, or all errors of the file. It looks for the code that experiments name in the parent
of the file's folder.`,
		Example: "  prony ratchet page --out reports",
		Args:    noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := experiment.Load(file)
			if err != nil {
				return err
			}
			page, plot, err := experimentspage.Page(all, filepath.Join(filepath.Dir(file), ".."))
			if err != nil {
				return err
			}
			files := []string{filepath.Join(out, experimentspage.Name)}
			if plot != nil {
				files = append(files, filepath.Join(out, experimentspage.PlotFile))
				if err := result.WriteFile(files[1], plot); err != nil {
					return err
				}
			}
			if err := result.WriteFile(files[0], []byte(page)); err != nil {
				return err
			}
			return finishPage(c, asJSON, file, files)
		},
	}
	c.Flags().StringVar(&file, "experiments", experimentsFile, "file of the experiments")
	c.Flags().StringVar(&out, "out", "reports", "folder for the page")
	jsonFlag(c, &asJSON)
	return c
}

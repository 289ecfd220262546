package main

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/doctor"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// doctorWindowMax is long enough for any host to show what it can do.
const doctorWindowMax = time.Minute

func doctorCommand() *cobra.Command {
	var asJSON bool
	var dir string
	var window time.Duration
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host can do for measuring",
		Long: `Measures what the load generator reaches by itself here, how late it sends tasks, and how long an fsync takes in the
folder for data, and says which of the host's signals can be read. It takes a few seconds. A check that is unfit makes
the exit code 3. A check that is unknown does not, but no scenario can judge its signal.`,
		Example: `  prony doctor
  prony doctor --json --dir /mnt/data`,
		Args: noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			if window <= 0 || window > doctorWindowMax {
				return fmt.Errorf("--window %v is not above 0 and at most %v", window, doctorWindowMax)
			}
			var d *doctor.Report
			err := during(c.ErrOrStderr(), "examining the host", func(*activity) (err error) {
				d, err = doctor.Examine(c.Context(), doctor.Options{Dir: dir, Window: window})
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c, d)
			} else {
				err = writeDoctor(c.OutOrStdout(), d)
			}
			if err == nil && d.Verdict != result.Pass {
				err = verdictError{d.Verdict}
			}
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", ".", "folder in which servers would keep their data")
	c.Flags().DurationVar(&window, "window", time.Second, "how long each load lasts; the one that measures the slip lasts twice that")
	jsonFlag(c, &asJSON)
	return c
}

// writeDoctor writes the checks as a table, and what they amount to.
func writeDoctor(to io.Writer, d *doctor.Report) error {
	h := d.Host
	if _, err := fmt.Fprintf(to, "%s, %d CPUs, GOMAXPROCS %d (%s), %s %s\nhost class: %s\n\n",
		h.CPUModel, h.CPUs, h.GOMAXPROCS, h.GOMAXPROCSSource, h.OS, h.Kernel, cmp.Or(h.Class(), "unknown")); err != nil {
		return err
	}
	t := render.Table{Header: make([]string, 5)}
	unfit, unknown := 0, 0
	for _, c := range d.Checks {
		switch c.State {
		case doctor.Unfit:
			unfit++
		case doctor.Unknown:
			unknown++
		}
		value := "unknown"
		if c.Value != nil {
			value = render.Digits(*c.Value, 3) + " " + c.Unit
		}
		limit := ""
		if c.Limit != nil {
			limit = "limit " + render.Digits(*c.Limit, 3)
		}
		t.Rows = append(t.Rows, []string{string(c.State), c.Name, value, limit, c.About})
	}
	_, err := fmt.Fprintf(to, "%s\n%s: %d checks, %d unfit, %d unknown\n", t.Text(""), d.Verdict, len(d.Checks), unfit, unknown)
	return err
}

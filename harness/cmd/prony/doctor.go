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

// doctorWindowMax is long enough for any host to reach its capacity.
const doctorWindowMax = time.Minute

func doctorCommand() *cobra.Command {
	var asJSON, dedicated bool
	var dir string
	var window time.Duration
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check how well this host can measure",
		Long: `Measures the rate of the load generator without a server, how late it sends tasks, and the duration of an fsync in the
data folder, and reports which host signals can be read. It takes a few seconds. An unfit check sets the exit code to 3.
An unknown check does not, but no scenario can judge its signal.

With --dedicated it also judges the host as a dedicated measurement host: governor, turbo, SMT, huge pages, swap, NUMA, clock source, interrupts,
disk, limits and other load, each with the recommended value and the reason. harness/DEDICATED.md says how to set them.`,
		Example: `  prony doctor
  prony doctor --dedicated --dir /var/lib/prony
  prony doctor --json --dir /mnt/data`,
		Args: noArguments.check,
		RunE: func(c *cobra.Command, _ []string) error {
			if window <= 0 || window > doctorWindowMax {
				return fmt.Errorf("--window %v must be above 0 and at most %v", window, doctorWindowMax)
			}
			var d *doctor.Report
			err := during(c.ErrOrStderr(), "examining the host", func(*activity) (err error) {
				d, err = doctor.Examine(c.Context(), doctor.Options{Dir: dir, Window: window, Dedicated: dedicated})
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
	c.Flags().StringVar(&dir, "dir", ".", "data folder of servers")
	c.Flags().DurationVar(&window, "window", time.Second, "duration of each load; the load that measures the slip runs twice as long")
	c.Flags().BoolVar(&dedicated, "dedicated", false, "judge the host as a dedicated measurement host")
	jsonFlag(c, &asJSON)
	return c
}

// writeDoctor writes the checks as a table, and the verdict.
func writeDoctor(to io.Writer, d *doctor.Report) error {
	h := d.Host
	if _, err := fmt.Fprintf(to, "%s, %s, GOMAXPROCS %d (%s), %s %s\nhost class: %s\n\n",
		h.CPUModel, render.Plural(h.CPUs, "CPU"), h.GOMAXPROCS, h.GOMAXPROCSSource, h.OS, h.Kernel, cmp.Or(h.Class(), "unknown")); err != nil {
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
	settings := ""
	if len(d.Dedicated) > 0 {
		settings = "\nas a dedicated host:\n\n" + dedicatedTable(d.Dedicated, &unfit, &unknown)
	}
	_, err := fmt.Fprintf(to, "%s%s\n%s: %s, %d unfit, %d unknown\n", t.Text(""), settings, d.Verdict, render.Plural(len(d.Checks)+len(d.Dedicated), "check"), unfit, unknown)
	return err
}

// dedicatedTable formats the settings of a dedicated host, and counts the unfit and the unknown
// ones.
func dedicatedTable(settings []doctor.Setting, unfit, unknown *int) string {
	t := render.Table{Header: make([]string, 5)}
	for _, s := range settings {
		switch s.State {
		case doctor.Unfit:
			*unfit++
		case doctor.Unknown:
			*unknown++
		}
		t.Rows = append(t.Rows, []string{string(s.State), s.Name, cmp.Or(s.Value, "unknown"), "advised: " + s.Advised, s.Why})
	}
	return t.Text("")
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

func profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "Show where the time of a run went",
		Long: `Shows the profiles of a run's profiled rounds, which cover exactly their windows: the most expensive functions, the locks
that goroutines waited for, the differences between two runs, and the profiles themselves in a browser. The slow commits,
which need no profile, are those of all rounds.`,
		Example: `  prony profile top
  prony profile locks`,
	}
	c.AddCommand(profileTopCommand(), profileLocksCommand(), profileStallsCommand(), profileDiffCommand(), profileOpenCommand())
	return c
}

// profileOf selects one of a run's profiles.
type profileOf struct {
	kind  string
	point int
	node  string
}

func (o *profileOf) flags(c *cobra.Command, kind string) {
	if kind != "" {
		c.Flags().StringVar(&o.kind, "kind", kind, "kind of profile: cpu, mutex, block, allocs or goroutine")
		completeFlag(c, "kind", oneOf("cpu", "mutex", "block", "allocs", "goroutine"))
	}
	c.Flags().IntVar(&o.point, "point", 0, "number of the point in a run with a sweep; 0: the first point with profiles")
}

func (o *profileOf) nodeFlag(c *cobra.Command) {
	c.Flags().StringVar(&o.node, "node", "", "id of the node in a cluster (default: the first)")
}

// readProfiled reads a run that has profiles, by default the newest.
func readProfiled(runs []string) (folder string, r *result.Result, err error) {
	if runs, err = orLatest(runs); err != nil {
		return "", nil, err
	}
	if r, _, err = result.Read(runs[0]); err != nil {
		return "", nil, err
	}
	if len(r.Profiles) == 0 {
		return "", nil, fmt.Errorf("run %s has no profiles: add capture \"cpu\" {}, for example, to its scenario", runs[0])
	}
	return runs[0], r, nil
}

// pick returns the selected profile.
func (o *profileOf) pick(r *result.Result) (result.Profile, error) {
	var kinds, nodes []string
	for _, p := range r.Profiles {
		if o.point != 0 && p.Point != o.point {
			continue
		}
		if !slices.Contains(kinds, p.Kind) {
			kinds = append(kinds, p.Kind)
		}
		if !slices.Contains(nodes, p.Node) {
			nodes = append(nodes, p.Node)
		}
		if p.Kind == o.kind && (o.node == "" || p.Node == o.node) {
			return p, nil
		}
	}
	switch {
	case len(kinds) == 0:
		return result.Profile{}, fmt.Errorf("--point %d has no profiles; the run has %s", o.point, pointsText(r))
	case !slices.Contains(kinds, o.kind):
		return result.Profile{}, fmt.Errorf("--kind %q was not captured; the run has %s", o.kind, strings.Join(kinds, ", "))
	}
	if slices.Equal(nodes, []string{""}) {
		return result.Profile{}, fmt.Errorf("--node %q: the run has a single server, which has no id", o.node)
	}
	return result.Profile{}, fmt.Errorf("--node %q has no profiles; the run has %s", o.node, strings.Join(nodes, ", "))
}

func pointsText(r *result.Result) string {
	if len(r.Points) == 0 {
		return "no sweep"
	}
	return fmt.Sprintf("points 1 to %d", len(r.Points))
}

// named describes the point and the node of a profile or lock if a run has several.
func named(r *result.Result, point int, node string) string {
	var of []string
	for _, p := range r.Points {
		if p.Number == point {
			of = append(of, p.Name)
		}
	}
	if node != "" {
		of = append(of, node)
	}
	if len(of) == 0 {
		return ""
	}
	return " of " + strings.Join(of, ", ")
}

// table writes rows under a header in columns to stdout.
func table(c *cobra.Command, header []string, rows [][]string) error {
	if _, err := fmt.Fprint(c.OutOrStdout(), render.Table{Header: header, Rows: rows}.Text("")); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// module is the prefix of the names of the project's own functions.
const module = "github.com/pronybench/prony/"

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/hostcompare"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// hostsCaveat explains what a comparison of two hosts does not show.
const hostsCaveat = "The ratio is B's figure to A's, with its 95 % interval by a bootstrap over the rounds of each side. It compares the two hosts on the days of" +
	" these runs, and does not show which property of a host causes it."

// HostsText renders a comparison of two hosts as plain text. It ends with a newline.
func HostsText(c *hostcompare.Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "A is %s (%s), B is %s (%s)\n\n", c.A.Folder, render.Plural(c.A.Runs, "run"), c.B.Folder, render.Plural(c.B.Runs, "run"))
	b.WriteString(hostsManifest(c, func(s string) string { return s }).Text("  "))
	for _, s := range c.Scenarios {
		fmt.Fprintf(&b, "\n%s\n", hostsTitle(s, func(s string) string { return s }))
		b.WriteString(hostsMetrics(s, func(s string) string { return s }).Text("  "))
		for _, note := range hostsNotes(s) {
			fmt.Fprintf(&b, "  %s\n", note)
		}
	}
	if len(c.Scenarios) == 0 {
		b.WriteString("\nno scenario can be compared\n")
	} else {
		b.WriteString("\n" + strings.ReplaceAll(hostsCaveat, ". ", ".\n") + "\n")
	}
	if len(c.Left) > 0 {
		b.WriteString("\nnot compared:\n")
	}
	for _, l := range c.Left {
		fmt.Fprintf(&b, "  %s: %s\n", l.Name, l.Why)
	}
	return b.String()
}

// HostsMarkdown renders a comparison of two hosts as a page.
func HostsMarkdown(c *hostcompare.Comparison) string {
	var p page
	p.heading(1, "Two hosts side by side")
	p.paragraph("A is %s with %s, and B is %s with %s. %s", code(c.A.Folder), render.Plural(c.A.Runs, "run"), code(c.B.Folder), render.Plural(c.B.Runs, "run"), hostsCaveat)
	p.heading(2, "The hosts")
	t := hostsManifest(c, text)
	p.table(t.Header, t.Rows)
	for _, s := range c.Scenarios {
		p.heading(2, "%s", hostsTitle(s, code))
		t := hostsMetrics(s, code)
		p.table(t.Header, t.Rows)
		p.list(hostsNotes(s))
	}
	p.heading(2, "Not compared")
	var left []string
	for _, l := range c.Left {
		left = append(left, code(l.Name)+": "+text(l.Why))
	}
	if len(left) == 0 {
		p.paragraph("Both have all scenarios, with the same configurations.")
	}
	p.list(left)
	return p.String()
}

func hostsManifest(c *hostcompare.Comparison, cell func(string) string) render.Table {
	t := render.Table{Header: []string{"host", "A", "B"}}
	for _, row := range c.Manifest {
		t.Rows = append(t.Rows, []string{row.Name, cell(orNoHost(row.A)), cell(orNoHost(row.B))})
	}
	return t
}

// orNoHost joins the values of a property. Without values, all servers of a side run on the
// generator's host.
func orNoHost(values []string) string {
	if len(values) == 0 {
		return "none separate"
	}
	return strings.Join(values, "; ")
}

func hostsTitle(s hostcompare.Scenario, code func(string) string) string {
	title := code(s.Name)
	if s.Point != "" {
		title += " at " + code(s.Point)
	}
	return title + ", durability " + code(s.Durability)
}

func hostsMetrics(s hostcompare.Scenario, code func(string) string) render.Table {
	t := render.Table{Header: []string{"metric", "unit", ">A", "its interval", ">B", "its interval", ">B / A", "its interval"}}
	compared := slices.ContainsFunc(s.Metrics, func(m hostcompare.Metric) bool { return m.OfBareA != nil || m.OfBareB != nil })
	if compared {
		t.Header = append(t.Header, ">A of bare", ">B of bare")
	}
	for _, m := range s.Metrics {
		row := []string{code(m.Name), m.Unit}
		for _, of := range []result.Metric{m.A, m.B} {
			row = append(row, render.Number(of.Median), render.Number(of.Low)+" to "+render.Number(of.High))
		}
		if m.Ratio == nil {
			row = append(row, "unknown", m.Why)
		} else {
			row = append(row, render.Digits(m.Ratio.Center, 3), render.Digits(m.Ratio.Low, 3)+" to "+render.Digits(m.Ratio.High, 3))
		}
		for _, share := range []*result.Metric{m.OfBareA, m.OfBareB} {
			switch {
			case share != nil:
				row = append(row, render.Digits(share.Median, 3))
			case compared:
				row = append(row, "-")
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// hostsNotes lists important facts about the runs of a scenario.
func hostsNotes(s hostcompare.Scenario) []string {
	notes := []string{fmt.Sprintf("runs: %s of %s, and %s of %s", s.A.ID, render.Plural(s.A.Rounds, "round"), s.B.ID, render.Plural(s.B.Rounds, "round"))}
	if slices.ContainsFunc(s.Metrics, func(m hostcompare.Metric) bool { return m.OfBareA != nil || m.OfBareB != nil }) {
		notes = append(notes, "of bare: rate as a share, CPU time as a multiple, of the bare data path measured with the run")
	}
	if s.A.Commit != s.B.Commit {
		notes = append(notes, fmt.Sprintf("the builds differ, so the ratio covers host and build together: %s and %s", s.A.Commit, s.B.Commit))
	}
	for _, r := range []struct {
		name   string
		rounds int
	}{{"A", s.A.Rounds}, {"B", s.B.Rounds}} {
		if r.rounds < stat.MinIntervalN {
			notes = append(notes, fmt.Sprintf("%s has fewer than %d rounds: its interval is the range of the rounds, and the interval of the ratio is too narrow", r.name, stat.MinIntervalN))
		}
	}
	return notes
}
